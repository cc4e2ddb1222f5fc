"""What clients send, as the OpenAPI description shows it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

Text = Annotated[str, Field(min_length=1, max_length=200)]
Row = dict[str, Any]
# What the library checks itself, in its own words, is only described here.
Reward = Annotated[Any, WithJsonSchema({"type": ["number", "boolean"]})]
Item = Annotated[Any, WithJsonSchema({"type": ["string", "integer", "object"]})]
Pair = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"$ref": "#/components/schemas/Outcome"},
                {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
            ]
        }
    ),
]


class Body(BaseModel):
    """A JSON object without fields that nobody knows."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Expiry(Body):
    """When a decision without an outcome is settled, and how."""

    after: float | str = Field(description="seconds, or a text such as '24h'")
    outcome: float | None = Field(None, description="the outcome to assume; null: none")


class Make(Body):
    """A decider to be made. Making the same again is harmless."""

    columns: list[str] | None = Field(None, description="the features by name, in their order")
    protected: list[str] = Field([], description="those of the columns that must not count")
    strategy: str = Field("EIIDS()", description="who decides, such as 'GENTRY(alpha=2)'")
    features: Row | None = Field(
        None,
        description="instead of columns, how raw columns become features: the arguments of "
        "pb.Features, or what to_dict returns; what they leave open is learnt from the first "
        "catalogue, and until then they may be declared anew",
    )
    half_life: float | str | None = Field(
        None, description="after how many decisions, or how much time ('60d'), outcomes fade"
    )
    intercept: bool = Field(True, description="whether a level that all outcomes share is learnt")
    seed: int | None = Field(None, ge=0, description="where randomness comes from; fresh if null")
    expire: Expiry | None = Field(None, description="when decisions without an outcome are settled")


class Ask(Body):
    """A choice to be made among items of the catalogue, or rows."""

    items: list[Item] | None = Field(
        None, description="labels of the catalogue, or rows as objects with all features"
    )
    filter: Row | None = Field(
        None,
        description="which items of the catalogue: by column a value, a list of values, or "
        '{"min": 1, "max": 2}; {} is all of them',
    )
    context: Row | None = Field(None, description="columns that come with the call")
    count: int = Field(1, ge=1, description="how many distinct items to choose")
    request_id: Text | None = Field(None, description="what to call the decision; made up if null")
    meta: Any = Field(None, description="what to note with it")


class Outcome(Body):
    """What came of a decision."""

    id: Text = Field(description="of which decision")
    outcome: Reward = Field(description="the outcome that is right")


class Tell(Body):
    """One outcome, or many: all or none."""

    id: Text | None = Field(None, description="of which decision")
    outcome: Reward = Field(None, description="its outcome, a number")
    outcomes: list[Pair] | None = Field(
        None, description='or many at once, each {"id": "...", "outcome": 1.0} or ["...", 1.0]'
    )


class Withdraw(Body):
    """A decision that has no outcome."""

    id: Text = Field(description="which decision")
    why: Text = Field("withdrawn", description="a reason to note")
