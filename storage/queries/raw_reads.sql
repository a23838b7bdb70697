-- Whose output was read by a person, from `since` to before `until`, and by whom?
--   since: instant
--   until: instant
SELECT at, request_id, reason AS purpose, operation, host, body
FROM audit_entry
WHERE kind = 'raw_read' AND at >= :since AND at < :until
ORDER BY at;
