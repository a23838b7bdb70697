-- Requests that were refused before anything ran.
CREATE VIEW v1_refusal AS
SELECT request_id, at, caller, principal, operation, host, effect, decision, reason, approver, code, stage, detail,
       id AS intent_entry
FROM audit_entry
WHERE kind = 'intent' AND code IS NOT NULL;
