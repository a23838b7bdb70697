-- When did the service start and stop, from `since` to before `until`, and with which version and catalogue?
--   since: instant
--   until: instant
SELECT at, kind, writer_id, service_version, catalogue_digest, body
FROM audit_entry
WHERE kind IN ('writer_start', 'writer_stop') AND at >= :since AND at < :until
ORDER BY at;
