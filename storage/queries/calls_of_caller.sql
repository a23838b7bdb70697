-- What did one caller ask for, from `since` to before `until`, and what became of it?
--   caller: text
--   since: instant
--   until: instant
SELECT intent.at, intent.request_id, intent.operation, intent.host, intent.decision, intent.reason,
       COALESCE(outcome.code, intent.code, 'may have run') AS result, outcome.detail, intent.command
FROM audit_entry AS intent
LEFT JOIN audit_entry AS outcome
       ON outcome.request_id = intent.request_id AND outcome.kind = 'outcome'
WHERE intent.kind = 'intent' AND intent.caller = :caller AND intent.at >= :since AND intent.at < :until
ORDER BY intent.at;
