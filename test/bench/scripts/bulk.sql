\set step :step + 1
SELECT document FROM bench.batches WHERE step = :step
\gset b_
\if :step = 1
/* warm */ SELECT * FROM approval.decide_many(decisions => :b_document, actor => :reviewer);
\else
/* decide */ SELECT * FROM approval.decide_many(decisions => :b_document, actor => :reviewer);
\endif
