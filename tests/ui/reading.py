"""A Decider whose answers depend on the state that it is shown."""

from dataclasses import dataclass

from ui.scripted import TIMING, ScriptedDecider

from clef_model.decision import Decision, answer
from clef_model.encoding import EncodedRecord


@dataclass
class ReadingDecider(ScriptedDecider):
    """A yes-no question is probably true where the kept state holds its id; of others the first option leads."""

    def kept_text(self, encoded: EncodedRecord) -> str:
        return next(segment.text for segment in encoded.ledger if segment.kind == "state")

    def _decision(self, encoded: EncodedRecord) -> Decision:
        text = self.kept_text(encoded)
        answers = []
        for question in encoded.record.questions:
            if question.kind == "noul":
                logits = (1.0, 0.0) if question.id in text else (0.0, 1.0)
            else:
                logits = tuple(-float(place) for place in range(len(question.options)))
            answers.append(answer(question, logits))
        return Decision(encoded, tuple(answers), TIMING, self.status)
