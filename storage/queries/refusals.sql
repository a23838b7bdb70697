-- Which requests were not allowed, from `since` to before `until`, and why?
--   since: instant
--   until: instant
SELECT at, request_id, caller, principal, operation, host, decision, reason, code, detail
FROM audit_entry
WHERE kind = 'intent' AND decision <> 'allow' AND at >= :since AND at < :until
ORDER BY at;
