"""A Decider that answers as it is told, on a byte-level tokenizer: the page without torch and without weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from model.small_tokenizers import byte_tokenizer

from clef_model.decision import Answer, Decision, Limits, ModelStatus, Progress, Timing, answer
from clef_model.encoding import EncodedRecord, encode
from clef_model.media_config import MediaConfig
from clef_model.schema import Question, Record
from clef_model.tokenizer import Tokenizer

STATUS = ModelStatus(
    name="scripted",
    revision="0123456789abcdef",
    device="cpu",
    dtype="float32",
    is_demonstration=True,
    accepts_media=False,
    tokenizer="bytes",
    tokenizer_is_exact=True,
)
TIMING = Timing(encode_ms=1.25, forward_ms=40.6, total_ms=43.0)


@dataclass
class ScriptedDecider:
    """`logits` by question id, in the model's order; other questions get 0, -1, -2 and so on."""

    logits: Mapping[str, Sequence[float]] = field(default_factory=dict)
    status: ModelStatus = STATUS
    tokenizer: Tokenizer = field(default_factory=byte_tokenizer)
    media_config: MediaConfig = field(default_factory=MediaConfig)
    decided: list[Record] = field(default_factory=list)

    def plan(self, record: Record, limits: Limits = Limits()) -> EncodedRecord:  # noqa: B008 (frozen)
        return encode(
            record,
            self.tokenizer,
            max_length=limits.max_length,
            max_state_tokens=limits.max_state_tokens,
            truncate=limits.truncate,
            media_config=self.media_config,
        )

    def decide(
        self,
        records: Sequence[Record],
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        progress: Progress | None = None,
    ) -> list[Decision]:
        self.decided.extend(records)
        if progress is not None:
            progress(0.5, "scripted")
        return [self._decision(self.plan(record, limits)) for record in records]

    def with_logits(self, logits: Mapping[str, Sequence[float]]) -> "ScriptedDecider":
        return replace(self, logits=logits)

    def _decision(self, encoded: EncodedRecord) -> Decision:
        answers = tuple(self._answer(question) for question in encoded.record.questions)
        return Decision(encoded, answers, TIMING, self.status)

    def _answer(self, question: Question) -> Answer:
        return answer(question, self.logits.get(question.id, [-float(place) for place in range(len(question.options))]))
