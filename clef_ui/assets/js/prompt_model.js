// The prompt of a view as segments, units (what is shown as one token) and rows; offsets are UTF-16 units of the text.
window.clef.promptModel = (() => {
  "use strict";
  const ROW_CHARACTERS = 700; // a row is broken here at the latest, so that one long line can be drawn in parts
  const BLOCK_CHARACTERS = 1500;
  const BLOCK_ROWS = 30;
  const PIECE = 120; // characters of a stand-in unit when the tokenizer cannot tell where its tokens stand

  const NAMES = {
    prefix: "prefix", media_end: "end of media", state: "state", schema_header: "schema header", question_header: "header",
    instruction: "instruction", options_header: "options header", option_label: "option label", option: "option",
    option_end: "line end", question_end: "end of question", suffix: "suffix",
  };
  // What a colour stands for; scaffold is the fixed text between the spans.
  const GROUPS = {
    prefix: "prefix", suffix: "prefix", media: "media", media_end: "media", state: "state", instruction: "question",
    option: "option",
  };
  const group = (kind) => GROUPS[kind] || "scaffold";

  function segments(view) {
    let at = 0, token = 0, listed = 0, run = 0;
    return view.segments.map(([kindPlace, length, tokens, question, option, media], place) => {
      const kind = view.kinds[kindPlace];
      const isMedia = kind === "media" || kind === "media_end";
      const segment = { place, kind, group: group(kind), start: at, end: at + length, token, tokens, question, option, media,
        first: isMedia ? -1 : listed, runs: isMedia ? view.runs[run++] : null };
      at += length;
      token += tokens;
      if (!isMedia) listed += tokens;
      return segment;
    });
  }

  // A unit is a token, or several that only together make a character: tokens ids[first .. first + count).
  function units(view, list) {
    const found = [];
    const add = (segment, start, end, first, count) => found.push({ place: found.length, segment, start, end, first, count });
    for (const segment of list) {
      if (segment.runs) {
        add(segment, segment.start, segment.end, -1, segment.tokens);
        continue;
      }
      if (!view.lengths) {
        for (let at = segment.start; at < segment.end; at += PIECE) add(segment, at, Math.min(at + PIECE, segment.end), -1, 0);
        continue;
      }
      const partial = segment.kind === "state" ? view.partial : 0;
      const last = segment.first + segment.tokens - partial;
      let at = segment.start;
      for (let token = segment.first; token < last;) {
        let count = 1;
        while (token + count < last && view.lengths[token + count] === 0) count += 1;
        add(segment, at, at + view.lengths[token], token, count);
        at += view.lengths[token];
        token += count;
      }
      if (partial) add(segment, at, at, last, partial);
    }
    return found;
  }

  function rows(text, list, cutAfter) {
    const found = [];
    let row = null;
    for (const unit of list) {
      if (!row) found.push(row = { place: found.length, start: unit.start, end: unit.end, units: [] });
      row.units.push(unit);
      row.end = unit.end;
      const piece = text.slice(unit.start, unit.end);
      const long = row.end - row.start;
      const next = list[unit.place + 1];
      const atCut = cutAfter === unit.segment && (!next || next.segment !== unit.segment);
      if (atCut || piece.includes("\n") || (long > ROW_CHARACTERS && /[\s,;}\]]$/.test(piece)) || long > 1.3 * ROW_CHARACTERS) row = null;
    }
    return found;
  }

  function blocks(list) {
    const found = [];
    let block = null;
    for (const row of list) {
      if (!block || block.rows.length >= BLOCK_ROWS || row.end - block.start > BLOCK_CHARACTERS) found.push(block = { place: found.length, start: row.start, rows: [] });
      block.rows.push(row);
      row.block = block;
    }
    return found;
  }

  // The last item of a list sorted by start whose start is at most the offset.
  function at(list, offset) {
    let low = 0, high = list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (list[middle].start <= offset) low = middle;
      else high = middle - 1;
    }
    return list[low];
  }

  function build(view) {
    const all = segments(view);
    const cutAfter = view.cut ? all[view.cut.segment] : null;
    const tokens = units(view, all);
    const lines = rows(view.text, tokens, cutAfter);
    const typed = new Map(view.typed.map((entry) => [entry.index, entry]));

    function owner(segment) {
      if (segment.kind === "media") return `${view.media[segment.media].kind} · ${view.media[segment.media].name}`;
      if (segment.question < 0) return NAMES[segment.kind];
      const question = view.questions[segment.question];
      const part = segment.option < 0 ? NAMES[segment.kind] : `${NAMES[segment.kind]} ${question.options[segment.option]}`;
      return `${question.id} · ${part}`;
    }

    return {
      view, text: view.text, segments: all, units: tokens, rows: lines, blocks: blocks(lines), cutAfter, owner,
      row: (offset) => at(lines, offset),
      unitOfToken(index) {
        const segment = all.findLast((each) => each.token <= index && each.tokens > 0);
        if (!segment || segment.runs || !view.lengths) return tokens.find((unit) => unit.segment === segment);
        const listed = segment.first + index - segment.token;
        return tokens.find((unit) => unit.segment === segment && unit.first <= listed && listed < unit.first + unit.count);
      },
      // Index in the whole row of ids; a media item begins at its segment's start.
      tokenIndex: (unit) => unit.first < 0 ? unit.segment.token : unit.segment.token + unit.first - unit.segment.first,
      ids: (unit) => unit.first < 0 ? [] : view.ids.slice(unit.first, unit.first + unit.count),
      special: (unit) => unit.first < 0 || unit.count > 1 ? null : view.special[view.ids[unit.first]] || null,
      typed(unit) { return unit.first < 0 ? null : typed.get(this.tokenIndex(unit)) || null; },
      find(question, option) {
        const isOption = option !== null && option !== undefined;
        return all.find((s) => s.question === question && s.kind === (isOption ? "option" : "instruction") && (!isOption || s.option === option));
      },
    };
  }

  return { build, group, NAMES };
})();
