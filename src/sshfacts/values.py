"""The JSON values that travel between the rooms."""

from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""What a document, arguments and facts are made of: no Decimal, no bytes, no NaN."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object; the shape of arguments, facts and every record's body."""
