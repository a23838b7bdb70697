-- Which allowed calls, from `since` to before `until`, have no outcome, so that their command may have run?
--   since: instant
--   until: instant
SELECT intent.at, intent.request_id, intent.caller, intent.principal, intent.operation, intent.host,
       intent.effect, intent.command,
       (SELECT MAX(late.at) FROM audit_entry AS late
         WHERE late.request_id = intent.request_id AND late.kind = 'orphan') AS orphaned_at
FROM audit_entry AS intent
WHERE intent.kind = 'intent' AND intent.decision = 'allow' AND intent.code IS NULL
  AND intent.at >= :since AND intent.at < :until
  AND NOT EXISTS (SELECT 1 FROM audit_entry AS outcome
                   WHERE outcome.request_id = intent.request_id AND outcome.kind = 'outcome')
ORDER BY intent.at;
