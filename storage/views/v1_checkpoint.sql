-- The signed checkpoints. Their time is not signed, and only a copy that was kept elsewhere proves anything.
CREATE VIEW v1_checkpoint AS
SELECT tree_size, at, note
FROM audit_checkpoint;
