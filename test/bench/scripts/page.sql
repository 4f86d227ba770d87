SELECT * FROM approval.inbox_page(@FILTERS@, after_key => @AFTER@, max_rows => 50);
