-- What did one person approve or refuse, from `since` to before `until`?
--   approver: text
--   since: instant
--   until: instant
SELECT at, kind, request_id, caller, operation, host, reason
FROM audit_entry
WHERE approver = :approver AND approver IS NOT NULL AND at >= :since AND at < :until
ORDER BY at;
