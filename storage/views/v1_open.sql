-- Allowed requests without an outcome: their command may have run, or runs now.
CREATE VIEW v1_open AS
SELECT intent.request_id, intent.at, intent.caller, intent.principal, intent.operation, intent.host, intent.effect,
       intent.command, intent.deadline_at,
       (SELECT MIN(orphan.at) FROM audit_entry AS orphan
         WHERE orphan.request_id = intent.request_id AND orphan.kind = 'orphan') AS orphaned_at,
       intent.id AS intent_entry
FROM audit_entry AS intent
WHERE intent.kind = 'intent' AND intent.decision = 'allow' AND intent.code IS NULL
  AND NOT EXISTS (SELECT 1 FROM audit_entry AS outcome
                   WHERE outcome.request_id = intent.request_id AND outcome.kind = 'outcome');
