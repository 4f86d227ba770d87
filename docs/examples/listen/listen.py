#!/usr/bin/python3
"""Prints what happens at the gate, each event once, as a line of JSON.

    listen.py [CURSOR_FILE]

Connects as libpq's variables say (PGHOST, PGUSER, ...).
"""
import json
import os
import random
import select
import sys
import time

import psycopg

FILE = sys.argv[1] if len(sys.argv) > 1 else "cursor"
# A bell can be missed; nobody waits longer than this.
EVERY = float(os.environ.get("READ_EVERY", "30"))
FEED = "SELECT cursor_text, events, more, resync FROM approval.feed(%s, max_rows => 1000)"
INBOX = """SELECT coalesce(json_agg(i), '[]')
  FROM (SELECT id, tenant, conversation_id, server, tool, summary, review_hash, status, expires_at
          FROM approval.inbox ORDER BY sort_key) i"""


def stored_cursor():
    try:
        with open(FILE) as f:
            return f.read().strip()
    except FileNotFoundError:
        return None


def store(cursor):
    """The old cursor or the new one, whatever happens in between."""
    with open(FILE + ".new", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
        f.write(cursor + "\n")
        f.flush()
        os.fsync(f.fileno())
    os.replace(FILE + ".new", FILE)


def handle(events):
    """What a program of your own does with events stands here.

    If it raises, the events are not done, and the program ends.
    """
    for event in events:
        print(json.dumps(event, ensure_ascii=False, separators=(",", ":")))
    sys.stdout.flush()


def feed(conn, cursor):
    try:
        return conn.execute(FEED, (cursor,)).fetchone()
    except psycopg.errors.InvalidParameterValue:
        # Text that is no cursor of the feed: as if it were of another database.
        return conn.execute(FEED, ("now",)).fetchone()[:3] + (True,)


class Listener:
    def __init__(self):
        self.cursor = stored_cursor()
        self.failures = 0

    def listen(self):
        """Comes back only with an error."""
        settings = "application_name=listen connect_timeout=10 keepalives_idle=30 tcp_user_timeout=60000"
        rung = []
        with psycopg.connect(settings, autocommit=True) as conn:
            conn.add_notify_handler(rung.append)
            # Listen first: what is committed while the feed is read rings.
            conn.execute("LISTEN approval")
            while True:
                rung.clear()
                self.read_on(conn)
                self.failures = 0
                # The end of the connection can be read too: the next query finds out.
                if not rung:
                    select.select([conn], [], [], EVERY)

    def read_on(self, conn):
        more = True
        while more:
            cursor, events, more, resync = feed(conn, self.cursor)
            if resync:
                handle([{"event": "resync", "waiting": conn.execute(INBOX).fetchone()[0]}])
            handle(events)
            if cursor != self.cursor:
                store(cursor)
            self.cursor = cursor

    def pause(self):
        """0.1 s to 10 s, and not all listeners at once."""
        time.sleep(min(10, 0.1 * 2 ** min(self.failures, 7)) * random.uniform(0.5, 1))
        self.failures += 1


listener = Listener()
while True:
    try:
        listener.listen()
    except psycopg.OperationalError as e:
        print("away:", *str(e).split(), file=sys.stderr, flush=True)
    listener.pause()
