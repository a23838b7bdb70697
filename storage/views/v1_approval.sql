-- Each step of each approval: asked, granted, refused, expired, consumed.
CREATE VIEW v1_approval AS
SELECT at, reason AS step, request_id, caller, principal, operation, host, effect, approver, command,
       catalogue_digest, operation_digest, id AS entry
FROM audit_entry
WHERE kind = 'approval';
