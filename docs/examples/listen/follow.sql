-- One step of a listener whose effect is SQL: events and cursor are stored in one
-- transaction, so that each event counts once, whatever is killed when.  Run it again
-- while more is true; resync means that gate_events has to be made anew.
WITH feed AS MATERIALIZED (
    SELECT f.* FROM approval.feed((SELECT cursor_text FROM gate_cursor), max_rows => 1000) f
), stored AS (
    INSERT INTO gate_events (id, n, event)
    SELECT e.value ->> 'id', (e.value ->> 'n')::int, e.value
    FROM feed, json_array_elements(feed.events) e
    ON CONFLICT DO NOTHING
)
UPDATE gate_cursor SET cursor_text = feed.cursor_text
FROM feed
RETURNING feed.more, feed.resync;
