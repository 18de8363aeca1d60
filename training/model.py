"""The trainable clef-nano: compressed rows, Qwen3.5's text backbone, the batched head, two throwaway read-outs."""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5TextModel

from clef_model.nano_rows import ROWS_FILE
from training.head import BatchedHead, Layout, span_means
from training.release import HEAD, HIDDEN, nano_config

TEACHER_WIDTH = 384
BODY_PREFIX = "model.language_model."
DROPOUT = 0.1  # of the embedded tokens: the grammars repeat their sentences
ROW_SCALE = 0.5  # root mean square of a row at the start, beside residual updates of about one


class Rows(nn.Module):
    """The stored rows and the composition of every id from them; reads a work folder's rows.npz or a release's rows."""

    def __init__(self, layout: Path) -> None:
        super().__init__()
        with np.load(layout) as stored:
            lengths, parts = stored["lengths"].astype(np.int64), stored["parts"].astype(np.int64)
            num_rows = len(stored["rows"]) if "rows" in stored else len(json.loads(str(stored["texts"])))
        self.weight = nn.Parameter(torch.randn(num_rows, HIDDEN) * ROW_SCALE)
        self.register_buffer("lengths", torch.from_numpy(lengths), persistent=False)
        self.register_buffer("starts", torch.from_numpy(np.cumsum(lengths) - lengths), persistent=False)
        self.register_buffer("parts", torch.from_numpy(parts), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Embeddings of the ids, composed once per distinct id."""
        distinct, places = torch.unique(ids, return_inverse=True)
        lengths, starts = self.lengths[distinct], self.starts[distinct]
        total = functional.embedding(self.parts[starts], self.weight)
        for place in range(1, int(lengths.max())):
            more = torch.nonzero(lengths > place).squeeze(1)
            total = total.index_add(0, more, functional.embedding(self.parts[starts[more] + place], self.weight))
        return functional.embedding(places, total / lengths.unsqueeze(1))


class TrainableNano(nn.Module):
    def __init__(self, layout: Path, teacher_width: int = TEACHER_WIDTH) -> None:
        super().__init__()
        config = nano_config().text_config
        config.vocab_size = 8  # the rows stand in for the table
        config.pad_token_id = None
        self.rows = Rows(layout)
        self.backbone = Qwen3_5TextModel(config)
        self.backbone.embed_tokens.requires_grad_(False)
        self.head = BatchedHead(**HEAD)
        self.dropout = nn.Dropout(DROPOUT)
        self.hidden_dropout = nn.Dropout(0.0)
        self.state_readout = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.teacher_readout = nn.Linear(HIDDEN, teacher_width, bias=False)
        self._start_near_identity()

    @torch.no_grad()
    def _start_near_identity(self) -> None:
        """Read-outs and projections begin as scaled identities; from a random start the loss sits on a plateau."""
        head = self.head
        for layer in (
            head.memory_projection,
            head.question_projection,
            head.option_question_projection,
            head.global_projection,
            head.option_context_projection,
            head.option_lexical_projection,
        ):
            layer.weight.mul_(0.3).add_(0.5 * torch.eye(HIDDEN))
        self.state_readout.weight.copy_(torch.eye(HIDDEN))
        head.prior_logit_scale.fill_(2.0)
        head.joint_logit_scale.fill_(1.5)

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Logits [B, O], the state vectors read at the schema's start and at the last token, and the state's mean row.

        Right padding needs no mask: every layer is causal, so no real token sees it.
        """
        ids = batch["ids"]
        embedded = self.rows(ids)
        hidden = self.backbone(inputs_embeds=self.dropout(embedded), use_cache=False).last_hidden_state
        places = torch.arange(ids.shape[1], device=ids.device)
        layout = Layout(
            tokens=places < batch["length"].unsqueeze(1),
            last=batch["length"].long() - 1,
            questions=batch["questions"],
            kinds=batch["kinds"].long(),
            options=batch["options"],
            owner=batch["owner"].long(),
        )
        lexical = span_means(embedded.float(), layout.options)
        logits = self.head(self.hidden_dropout(hidden), lexical, layout).float()
        states = span_means(embedded.float().detach(), batch["state"].unsqueeze(1)).squeeze(1)
        rows = torch.arange(len(ids), device=ids.device)
        # The last token of the schema's header has just read the whole state.
        read = torch.stack([hidden[rows, batch["state"][:, 1].long() + 6], hidden[rows, layout.last]], dim=1)
        return logits, read, states

    def regularise(self, embedded: float, inside: float) -> None:
        """Dropout of the embedded tokens, and of what the head reads and its layers add."""
        self.dropout.p = embedded
        self.hidden_dropout.p = inside
        for evidence in self.head.evidence_layers:
            evidence.feedforward[2], evidence.feedforward[4] = nn.Dropout(inside), nn.Dropout(inside)
        self.head.residual_scorer[2] = nn.Dropout(inside)
        for layer in self.head.layers:
            for part in (layer.dropout, layer.dropout1, layer.dropout2, layer.dropout3):
                part.p = inside

    def load_release(self, folder: Path) -> None:
        """Body, head and rows of a release."""
        with np.load(folder / ROWS_FILE) as stored:
            rows = stored["rows"].astype(np.float32) * stored["scales"].astype(np.float32)[:, None]
        self.load(
            load_file(folder / "model.safetensors"),
            load_file(folder / "joint_head.safetensors"),
            torch.from_numpy(rows),
        )

    def body_state(self) -> dict[str, Tensor]:
        """The backbone's tensors under the release's keys, without the embedding."""
        own = self.backbone.state_dict()
        return {BODY_PREFIX + key: value for key, value in own.items() if key != "embed_tokens.weight"}

    def load(self, body: dict[str, Tensor], head: dict[str, Tensor], rows: Tensor) -> None:
        own = {
            key.removeprefix(BODY_PREFIX): value.float() for key, value in body.items() if key.startswith(BODY_PREFIX)
        }
        missing, surplus = self.backbone.load_state_dict(own, strict=False)
        assert missing == ["embed_tokens.weight"], missing
        assert not surplus, surplus
        self.head.load_state_dict({key: value.float() for key, value in head.items()})
        with torch.no_grad():
            self.rows.weight.copy_(rows.float())
