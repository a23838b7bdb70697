-- What was asked of one host, from `since` to before `until`, by whom, and what became of it?
--   host: text
--   since: instant
--   until: instant
SELECT intent.at, intent.request_id, intent.caller, intent.principal, intent.operation, intent.decision,
       COALESCE(outcome.code, intent.code, 'may have run') AS result, outcome.detail, intent.command,
       outcome.host_key, outcome.key_fingerprint
FROM audit_entry AS intent
LEFT JOIN audit_entry AS outcome
       ON outcome.request_id = intent.request_id AND outcome.kind = 'outcome'
WHERE intent.kind = 'intent' AND intent.host = :host AND intent.at >= :since AND intent.at < :until
ORDER BY intent.at;
