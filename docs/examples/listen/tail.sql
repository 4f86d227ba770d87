-- For a terminal: what happens at the gate from now on, every two seconds, until Ctrl-C.
WITH feed AS MATERIALIZED (
    SELECT f.events, set_config('tail.cursor', f.cursor_text, false)
    FROM approval.feed(coalesce(current_setting('tail.cursor', true), 'now')) f
)
SELECT e.value ->> 'at' AS at, e.value ->> 'event' AS event, e.value ->> 'tool' AS tool,
       e.value ->> 'actor' AS actor, e.value ->> 'id' AS id
FROM feed, json_array_elements(feed.events) e \watch 2
