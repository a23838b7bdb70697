"""A later revision, as a next version could bring it, beside the real ones."""

import shutil
from pathlib import Path

from sshfacts.builtin import builtin_site
from sshfacts.storage.revision import HEAD

NEXT = "9999"
ADDING = f'''\
"""A column more."""

import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"


def upgrade() -> None:
    op.add_column("audit_entry", sa.Column("tenant", sa.Text))
    op.create_index("ix_audit_entry_tenant", "audit_entry", ["tenant"])
'''
FAILING = ADDING + "    raise ZeroDivisionError\n"


def with_next(folder: Path, text: str = ADDING) -> Path:
    """Return a folder with the migrations of this version and one more."""
    site = folder / "storage"
    shutil.copytree(builtin_site() / "storage", site, ignore=shutil.ignore_patterns("__pycache__"))
    (site / "migrations" / "versions" / f"r{NEXT}_next.py").write_text(text)
    return site / "migrations"
