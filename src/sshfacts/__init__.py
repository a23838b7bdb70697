"""Named, vetted SSH operations in; minimal, validated facts out; everything else refused and on record."""
