-- skip_locked: a part of complete.sql. Acks of several requests do not wait for one locked lease.
SKIP LOCKED
