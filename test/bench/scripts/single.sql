\set step :step + 1
SELECT id, seen FROM bench.requests WHERE n = :step
\gset r_
\if :step <= 10
/* warm */ SELECT * FROM approval.decide(id => :r_id, verdict => :verdict, seen => :r_seen, actor => :reviewer, note => :note);
\else
/* decide */ SELECT * FROM approval.decide(id => :r_id, verdict => :verdict, seen => :r_seen, actor => :reviewer, note => :note);
\endif
