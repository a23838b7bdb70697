-- Who used one operation, from `since` to before `until`, on which hosts, and what became of it?
--   operation: text
--   since: instant
--   until: instant
SELECT intent.at, intent.request_id, intent.caller, intent.principal, intent.host, intent.decision,
       COALESCE(outcome.code, intent.code, 'may have run') AS result, outcome.detail, intent.operation_digest
FROM audit_entry AS intent
LEFT JOIN audit_entry AS outcome
       ON outcome.request_id = intent.request_id AND outcome.kind = 'outcome'
WHERE intent.kind = 'intent' AND intent.operation = :operation AND intent.at >= :since AND intent.at < :until
ORDER BY intent.at;
