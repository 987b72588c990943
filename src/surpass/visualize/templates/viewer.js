// The viewer: panels for one recording or two in step, and the controls. Texts go into the page as texts, never as markup.

const SPEEDS = [1, 2, 4, 8, 15, 30, 60, 120, 250, 500, 1000, 2500];
const ROW = 22; // the height of a line of the steps
const EDGE = 4; // what is left free above the first of them and below the last

function make(tag, options = {}, children = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const ICONS = {
  first: "M3 3h2.4v14H3zM17 3v14L7 10z",
  back: "M14.5 3v14L5 10z",
  play: "M5 2.5v15L17.5 10z",
  pause: "M4.5 3h4v14h-4zM11.5 3h4v14h-4z",
  on: "M5.5 3v14L15 10z",
  last: "M14.6 3H17v14h-2.4zM3 3v14l10-7z",
  slower: "M4 9h12v2H4z",
  faster: "M9 4h2v5h5v2h-5v5H9v-5H4V9h5z",
};

/** A sign drawn by the page itself, since not every font has it. */
function makeIcon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A number with three digits, in few letters. */
function showNumber(number) {
  return number !== 0 && Math.abs(number) < 0.001 ? number.toExponential(1) : number.toPrecision(3);
}

/** A text in which numbers of many digits have three. */
const shortenNumbers = (text) => text.replace(/-?\d+\.\d{3,}/g, (number) => String(Number(Number(number).toPrecision(3))));

/** A list that is broken between its values, not within them. */
const breakable = (text) => text.replace(/[,:]/g, "$&\u200b");

const isNarrow = () => window.matchMedia("(max-width: 760px)").matches;
const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

/** One agent: its picture, its state in words, its listing and its trace. */
class Panel {
  constructor(recording, number, inStep) {
    this.recording = recording;
    this.reel = new Reel(recording);
    this.lineOf = new Map();
    recording.listing.forEach((line, k) => line.rules.forEach((rule) => this.lineOf.set(rule, k)));
    this.build(number, inStep);
    this.renderer = new Renderer(this.canvas, this.reel);
  }

  build(number, inStep) {
    const { recording } = this;
    this.count = make("span", { class: "count" });
    this.badge = make("span", { class: "badge" });
    const rows = Math.max(1, recording.bars.length + this.reel.rows.length);
    this.canvas = make("canvas", { class: "stage", role: "img", style: `--rows: ${rows}` });
    this.action = make("dd", { class: "action" });
    this.facts = new Map();
    const list = make("dl", { class: "facts" }, [make("div", {}, [make("dt", { text: "action" }), this.action])]);
    const fact = (name) => {
      const value = make("dd");
      list.append(make("div", {}, [make("dt", { text: name }), value]));
      this.facts.set(name, value);
    };
    if (recording.calls) ["function", "previous action"].forEach(fact);
    recording.values.forEach((slot) => fact(recording.names[slot]));
    this.answeredAt = new Map(recording.awaited.map((slot) => [slot, this.firstChange(slot)]));
    this.gauges = recording.gauges.map((gauge) => this.buildGauge(gauge));
    const parts = [
      make("header", {}, [
        make("span", { class: `dot dot-${number}` }),
        make("h2", { text: recording.agent, title: recording.agent }),
        this.count,
        this.badge,
      ]),
      ...recording.notices.map((text) => make("p", { class: "notice", text })),
    ];
    const picture = make("div", { class: "picture" }, [this.canvas, ...this.gauges.map((gauge) => gauge.element), list]);
    this.detail = make("details", {}, [
      make("summary", { text: "Program and steps" }),
      make("div", { class: "detail" }, [this.buildListing(), this.buildTrace()]),
    ]);
    this.detail.open = !(isNarrow() && inStep);
    this.detail.addEventListener("toggle", () => {
      this.measure();
      this.show(this.reel.at);
    });
    parts.push(make("div", { class: "moment" }, [picture, this.detail, ...(recording.calls ? [this.buildStack()] : [])]));
    this.element = make("article", { class: "panel", "aria-label": recording.agent }, parts);
  }

  /** After which step a slot first holds something new; the last one if it never does. */
  firstChange(slot) {
    const at = this.recording.steps.changes.findIndex((change) => change.some((part, k) => k % 2 === 0 && part === slot));
    return at < 0 ? this.reel.length : at + 1;
  }

  buildGauge(gauge) {
    const { recording } = this, bars = recording.bars.find((bar) => bar.name === gauge.bars);
    const fill = make("i", { class: "fill" }), mark = make("i", { class: "mark" }), text = make("span", { class: "number" });
    const element = make("div", { class: "gauge" }, [
      make("span", { class: "name", text: gauge.name }),
      make("span", { class: "frame" }, [fill, mark]),
      text,
    ]);
    const sum = bars ? bars.values.reduce((a, b) => a + b, 0) : 0;
    return { ...gauge, element, fill, mark, text, sum, markSlot: gauge.mark, levelSlot: gauge.level };
  }

  buildStack() {
    this.stackTitle = make("h3");
    this.stack = make("ol", { class: "stack", tabindex: "0", "aria-label": "open calls, the newest first" });
    return make("div", { class: "calls" }, [this.stackTitle, this.stack]);
  }

  buildListing() {
    const { recording } = this;
    this.lines = recording.listing.map((line) =>
      make("li", {}, [
        make("code", { text: line.text }),
        make("span", { class: "rules", text: line.rules.map((rule) => rule + 1).join("+") }),
      ]),
    );
    const parts = [make("h3", { text: "Program" })];
    if (this.lines.length) {
      this.listing = make("ol", { class: "listing", tabindex: "0", "aria-label": "program" }, this.lines);
      parts.push(this.listing);
    }
    if (recording.note) parts.push(make("p", { class: "note", text: recording.note }));
    return make("div", { class: "program" }, recording.listing.length || recording.note ? parts : []);
  }

  buildTrace() {
    this.rows = [];
    this.space = make("div", { class: "space" });
    const { recording } = this;
    const wide = recording.steps.action.map((action) => recording.texts[action].length);
    this.wideAction = Math.min(18, wide.reduce((most, letters) => Math.max(most, letters), 5));
    this.widest = wide.reduce((most, letters, at) => Math.max(most, 8 * Math.max(letters, this.wideAction) + 7 * this.changesOf(at + 1).length), 0);
    this.trace = make("div", { class: "trace", tabindex: "0", role: "group", "aria-label": "steps" }, [this.space]);
    this.trace.addEventListener("scroll", () => this.fillTrace());
    return make("div", { class: "steps" }, [make("h3", { text: "Steps" }), this.trace]);
  }

  /** Take the sizes that its parts have on the page. */
  measure() {
    this.renderer.readColours();
    this.renderer.measure();
    // Where a step does not fit on one line, what it changed stands on a second one.
    const row = this.widest + 104 > (this.trace.clientWidth || 400) ? 2 * ROW - 4 : ROW;
    if (row !== this.row) {
      this.row = row;
      this.rows.forEach((shown) => { shown.at = null; });
      this.trace.classList.toggle("two-lines", row > ROW);
      this.trace.style.setProperty("--action", `${this.wideAction}ch`);
    }
    this.traceHeight = this.trace.clientHeight || 240;
    // Scrolled to the end, too, a whole row stands at the top.
    const tall = (this.reel.length + 1) * row + 2 * EDGE, hidden = tall - this.traceHeight;
    this.space.style.height = `${hidden > 0 ? this.traceHeight + Math.ceil(hidden / row) * row : tall}px`;
    this.isLongListing = Boolean(this.listing) && this.listing.scrollHeight > this.listing.clientHeight;
  }

  /** Show a moment; while it plays, the picture is not told in words, which nobody could follow. */
  show(moment, isPlaying = false) {
    const { reel, recording } = this;
    reel.seek(moment);
    const isOver = reel.at === reel.length;
    setText(this.count, `step ${reel.at.toLocaleString("en")} of ${recording.total.toLocaleString("en")}`);
    setText(this.badge, isOver ? recording.ending : "");
    this.badge.className = `badge ${isOver ? (recording.outcome === "solved" ? "good" : "bad") : ""}`;
    setText(this.action, reel.told("action", "start"));
    if (recording.calls) {
      setText(this.facts.get("function"), reel.told("function", "main"));
      setText(this.facts.get("previous action"), reel.told("previous") || "none");
      this.showStack();
    }
    for (const slot of recording.values) {
      const isOpen = reel.at < (this.answeredAt.get(slot) ?? 0);
      setText(this.facts.get(recording.names[slot]), isOpen ? "none yet" : reel.text(slot));
    }
    this.gauges.forEach((gauge) => this.showGauge(gauge));
    this.showRule();
    this.showTrace();
    if (!isPlaying) this.canvas.setAttribute("aria-label", this.describe());
    this.element.dataset.step = reel.at;
    this.renderer.draw();
  }

  showGauge(gauge) {
    const level = Number(this.reel.text(gauge.levelSlot)), mark = Number(this.reel.text(gauge.markSlot));
    const full = Math.max(gauge.sum, level, mark) || 1;
    gauge.fill.style.width = `${(100 * Math.max(0, level)) / full}%`;
    gauge.mark.style.left = `${(100 * Math.max(0, mark)) / full}%`;
    gauge.fill.className = level > mark ? "fill over" : "fill";
    setText(gauge.text, `${showNumber(level)} / ${showNumber(mark)}`);
  }

  showStack() {
    const { stack } = this.reel, shown = stack.slice(-40).reverse();
    setText(this.stackTitle, `Call stack, depth ${stack.length}`);
    this.stack.classList.toggle("empty", !stack.length);
    while (this.stack.children.length > shown.length) this.stack.lastChild.remove();
    while (this.stack.children.length < shown.length) this.stack.append(make("li"));
    shown.forEach((text, k) => {
      setText(this.stack.children[k], this.recording.texts[text]);
      this.stack.children[k].title = this.recording.texts[text];
    });
  }

  showRule() {
    const rule = this.reel.rule, line = this.lines[this.lineOf.get(rule)];
    this.element.dataset.rule = rule === null ? "" : rule;
    if (this.lit === line) return;
    if (this.lit) {
      this.lit.classList.remove("lit");
      this.lit.removeAttribute("aria-current");
    }
    this.lit = line;
    if (!line) return;
    line.classList.add("lit");
    line.setAttribute("aria-current", "step");
    if (this.isLongListing) keepInView(this.listing, line.offsetTop, line.offsetHeight);
  }

  showTrace() {
    const above = Math.floor((this.traceHeight / this.row - 1) / 2);
    const top = Math.max(0, this.reel.at - above) * this.row;
    this.trace.scrollTop = top;
    this.fillTrace(top);
  }

  /** Keep only the rows of the trace that can be seen. */
  fillTrace(top = this.trace.scrollTop) {
    const seen = Math.ceil(this.traceHeight / this.row);
    const last = Math.min(this.reel.length, Math.ceil(top / this.row) + seen + 2);
    const first = Math.max(0, Math.min(Math.floor(top / this.row) - 2, last - seen - 2));
    while (this.rows.length > last - first + 1) this.rows.pop().element.remove();
    while (this.rows.length < last - first + 1) this.rows.push(this.buildRow());
    this.rows.forEach((row, k) => this.fillRow(row, first + k));
  }

  /** A row of the trace, which holds one step after another: to make rows anew would cost more than to fill them. */
  buildRow() {
    const parts = [make("span", { class: "at" }), make("code"), make("span", { class: "changes" })];
    const element = make("div", { class: "step" }, parts);
    this.space.append(element);
    return { element, parts, at: null };
  }

  fillRow(row, at) {
    const { recording } = this, [number, action, changes] = row.parts;
    row.element.classList.toggle("now", at === this.reel.at);
    if (row.at === at) return;
    row.at = at;
    row.element.style.top = `${EDGE + at * this.row}px`;
    row.element.style.height = `${this.row}px`;
    setText(number, String(at));
    setText(action, at ? recording.texts[recording.steps.action[at - 1]] : "start");
    const told = at ? this.changesOf(at) : "";
    setText(changes, told);
    changes.title = told;
  }

  /** What a step changed, in a line. */
  changesOf(at) {
    const { recording } = this, change = recording.steps.changes[at - 1], told = [];
    for (let k = 0; k < change.length && told.length < 6; k += 2) {
      told.push(`${recording.names[change[k]]} = ${shortenNumbers(recording.texts[change[k + 1]])}`);
    }
    return told.join(", ");
  }

  /** The picture in words. */
  describe() {
    const { reel, recording } = this;
    const lists = recording.lists.map((list) => {
      const texts = Array.from({ length: Math.min(list.count, 50) }, (_, k) => reel.text(list.first + k));
      return `${list.name} = ${texts.join(", ")}${list.count > 50 ? ", …" : ""}`;
    });
    const arrows = reel.arrows.map((arrow) => `${arrow.name} at ${arrow.at}`);
    const level = recording.level === null ? [] : [`${recording.names[recording.level]} = ${reel.text(recording.level)}`];
    return [`Step ${reel.at}`, ...lists, ...arrows, ...level].join("; ");
  }
}

/** Scroll a box, and nothing around it, so that a part of it is in view. */
function keepInView(box, top, height) {
  if (top < box.scrollTop || top + height > box.scrollTop + box.clientHeight) {
    box.scrollTop = top - (box.clientHeight - height) / 2;
  }
}

/** The curves of progress of all recordings over their steps, with a line at the moment that is shown. */
class Curves {
  constructor(canvas, panels) {
    this.canvas = canvas;
    this.panels = panels;
    this.series = panels.map(({ recording }) =>
      recording.bracket ? [recording.size, ...recording.steps.bracket.map((b) => (b ? b[1] - b[0] + 1 : 0))] : recording.steps.score,
    );
    const all = this.series.flatMap((values) => [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))]);
    this.low = Math.min(...all);
    this.high = Math.max(...all);
    this.length = Math.max(1, ...panels.map((panel) => panel.reel.length));
    this.title = panels[0].recording.bracket ? "positions left" : panels[0].recording.scoreName.replaceAll("_", " ");
  }

  get isFlat() {
    return !(this.high > this.low);
  }

  measure() {
    [this.width, this.height] = fitCanvas(this.canvas);
    const style = getComputedStyle(this.canvas);
    this.font = style.fontFamily;
    this.colours = Object.fromEntries(
      ["agent-1", "agent-2", "faint"].map((name) => [name, style.getPropertyValue(`--surpass-${name}`).trim()]),
    );
    this.drawLines();
  }

  x(at) {
    return 4 + ((this.width - 8) * at) / this.length;
  }

  y(value) {
    return this.height - 5 - ((this.height - 22) * (value - this.low)) / (this.high - this.low);
  }

  /** Draw the curves themselves, once for all moments. */
  drawLines() {
    const { width } = this, x = (at) => this.x(at), y = (value) => this.y(value);
    this.lines = make("canvas");
    this.lines.width = Math.max(1, this.canvas.width);
    this.lines.height = Math.max(1, this.canvas.height);
    const pen = this.lines.getContext("2d"), ratio = window.devicePixelRatio || 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.series.forEach((values, number) => {
      pen.strokeStyle = this.colours[`agent-${number + 1}`];
      pen.lineWidth = 2;
      pen.setLineDash(number ? [6, 3] : []);
      pen.beginPath();
      const step = Math.max(1, Math.floor(values.length / (2 * width)));
      for (let at = 0; at < values.length; at += step) {
        if (at) pen.lineTo(x(at), y(values[at - step]));
        pen.lineTo(x(at), y(values[at]));
      }
      pen.lineTo(x(values.length - 1), y(values[values.length - 1]));
      pen.stroke();
    });
    pen.fillStyle = this.colours.faint;
    pen.font = `12px ${this.font}`;
    pen.fillText(this.title, 2, 11);
  }

  draw(moment) {
    const { width, height } = this, pen = this.canvas.getContext("2d");
    pen.clearRect(0, 0, width, height);
    pen.drawImage(this.lines, 0, 0, width, height);
    this.series.forEach((values, number) => {
      const at = Math.min(moment, values.length - 1);
      pen.fillStyle = this.colours[`agent-${number + 1}`];
      pen.beginPath();
      pen.arc(this.x(at), this.y(values[at]), 4, 0, 7);
      pen.fill();
    });
    pen.fillStyle = this.colours.faint;
    pen.fillRect(this.x(moment) - 0.5, 14, 1, height - 16);
  }
}

/** A viewer in a page. */
class Viewer {
  constructor(root, recordings) {
    this.root = root;
    this.panels = recordings.map((recording, k) => new Panel(recording, k + 1, recordings.length > 1));
    this.length = Math.max(...this.panels.map((panel) => panel.reel.length));
    this.moment = 0;
    this.isPlaying = false;
    const pace = this.length / 12;
    this.speed = Math.max(0, SPEEDS.findIndex((speed) => speed >= pace));
    if (pace > SPEEDS[SPEEDS.length - 1]) this.speed = SPEEDS.length - 1;
    this.build();
    this.listen();
    this.measure();
  }

  /** Take the sizes that everything has on the page, and show it. */
  measure() {
    this.panels.forEach((panel) => panel.measure());
    this.curves.measure();
    this.show();
  }

  build() {
    const button = (label, icon, act) => {
      const element = make("button", { type: "button", "aria-label": label, title: label }, [makeIcon(icon)]);
      element.addEventListener("click", act);
      return element;
    };
    const { recording } = this.panels[0];
    this.play = button("Play (space)", "play", () => this.toggle());
    this.play.classList.add("play");
    this.scrub = make("input", { type: "range", min: "0", max: String(this.length), value: "0", "aria-label": "Step" });
    this.scrub.addEventListener("input", () => this.seek(Number(this.scrub.value)));
    this.pace = make("output", { class: "pace" });
    this.status = make("p", { class: "status", "aria-live": "polite" });
    this.verdict = make("p", { class: "verdict", text: this.compare() });
    this.curves = new Curves(make("canvas", { class: "curves", "aria-hidden": "true" }), this.panels);
    const buttons = make("div", { class: "buttons" }, [
      button("First step (home)", "first", () => this.seek(0)),
      button("One step back (left)", "back", () => this.stepBy(-1)),
      this.play,
      button("One step on (right)", "on", () => this.stepBy(1)),
      button("Last step (end)", "last", () => this.seek(this.length)),
      make("span", { class: "speed" }, [
        button("Slower (-)", "slower", () => this.changeSpeed(-1)),
        this.pace,
        button("Faster (+)", "faster", () => this.changeSpeed(1)),
      ]),
    ]);
    this.controls = make("div", { class: "controls", role: "group", "aria-label": "Controls" }, [
      ...(this.curves.isFlat ? [] : [this.curves.canvas]),
      this.scrub,
      buttons,
      this.status,
    ]);
    this.root.replaceChildren(
      make("p", { class: "about", text: `Size ${recording.size}: ${breakable(recording.instance)}` }),
      ...(this.panels.length > 1 ? [this.verdict] : []),
      make("div", { class: `panels panels-${this.panels.length}` }, this.panels.map((panel) => panel.element)),
      this.controls,
    );
    this.root.setAttribute("tabindex", "0");
    this.showPace();
  }

  /** What the first agent saves against the second, in a sentence. */
  compare() {
    if (this.panels.length < 2) return "";
    const [a, b] = this.panels.map((panel) => panel.recording);
    const unsolved = [a, b].filter((recording) => recording.outcome !== "solved");
    if (unsolved.length) return unsolved.map((recording) => `${recording.agent} ends with: ${recording.outcome}.`).join(" ");
    if (a.measure === "reward") {
      const gain = a.score - b.score, words = `${a.agent} ends with ${a.score.toPrecision(4)}, ${b.agent} with ${b.score.toPrecision(4)}`;
      return `${words}: ${gain === 0 ? "no difference" : `${Math.abs(gain).toPrecision(3)} ${gain > 0 ? "more" : "less"}`}.`;
    }
    const saved = b.total - a.total, words = `${a.agent} takes ${plural(a.total, "step")}, ${b.agent} ${plural(b.total, "step")}`;
    if (saved === 0) return `${words}: no difference.`;
    const share = b.total ? ` (${Math.round((100 * Math.abs(saved)) / b.total)} %)` : "";
    return `${words}: ${plural(Math.abs(saved), "step")}${share} ${saved > 0 ? "saved" : "more"}.`;
  }

  listen() {
    // In a page that shows other things too, keys are the page's until the viewer has the focus.
    const isAlone = document.body.classList.contains("surpass-page");
    (isAlone ? document : this.root).addEventListener("keydown", (event) => this.press(event));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.measure());
    new ResizeObserver(() => this.measure()).observe(this.root);
    this.root.addEventListener("pointerdown", (event) => {
      if (event.target === this.root) this.root.focus();
    });
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tag = event.target.tagName, isButton = tag === "BUTTON" || tag === "SUMMARY";
    if (["SELECT", "TEXTAREA"].includes(tag) || (tag === "INPUT" && event.target !== this.scrub)) return;
    const far = Math.max(10, Math.round(this.length / 20));
    const acts = {
      ArrowRight: () => this.stepBy(event.shiftKey ? far : 1),
      ArrowLeft: () => this.stepBy(event.shiftKey ? -far : -1),
      Home: () => this.seek(0),
      End: () => this.seek(this.length),
      "+": () => this.changeSpeed(1),
      "=": () => this.changeSpeed(1),
      "-": () => this.changeSpeed(-1),
    };
    if (!isButton) acts[" "] = () => this.toggle();
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  seek(moment) {
    this.pause();
    this.moment = Math.max(0, Math.min(moment, this.length));
    this.show();
  }

  stepBy(steps) {
    this.seek(this.moment + steps);
  }

  toggle() {
    if (this.isPlaying) {
      this.pause();
      this.show();
    } else this.start();
  }

  start() {
    if (this.moment >= this.length) this.moment = 0;
    this.isPlaying = true;
    this.showPlay();
    let before = performance.now(), owed = 0;
    const tick = (now) => {
      if (!this.isPlaying) return;
      // A page that was hidden does not catch up at once.
      owed += (Math.min(now - before, 250) / 1000) * SPEEDS[this.speed];
      before = now;
      const steps = Math.floor(owed);
      owed -= steps;
      if (steps > 0) {
        this.moment = Math.min(this.moment + steps, this.length);
        if (this.moment === this.length) this.pause();
        this.show();
      }
      if (this.isPlaying) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    this.isPlaying = false;
    this.showPlay();
  }

  showPlay() {
    this.play.firstChild.firstChild.setAttribute("d", ICONS[this.isPlaying ? "pause" : "play"]);
    const label = this.isPlaying ? "Pause (space)" : "Play (space)";
    this.play.setAttribute("aria-label", label);
    this.play.title = label;
    this.root.dataset.playing = String(this.isPlaying);
  }

  changeSpeed(by) {
    this.speed = Math.max(0, Math.min(SPEEDS.length - 1, this.speed + by));
    this.showPace();
  }

  showPace() {
    setText(this.pace, `${SPEEDS[this.speed].toLocaleString("en")} ${SPEEDS[this.speed] === 1 ? "step" : "steps"}/s`);
  }

  show() {
    this.panels.forEach((panel) => panel.show(this.moment, this.isPlaying));
    if (!this.curves.isFlat) this.curves.draw(this.moment);
    this.scrub.value = String(this.moment);
    this.scrub.setAttribute("aria-valuetext", `step ${this.moment} of ${this.length}`);
    this.root.dataset.step = this.moment;
    if (!this.isPlaying) {
      const done = this.panels.filter((panel) => panel.reel.at === panel.reel.length && panel.reel.length < this.length);
      const ahead = done.map((panel) => `${panel.recording.agent} is done, ${plural(this.moment - panel.reel.length, "step")} ago.`);
      setText(this.status, [`Step ${this.moment.toLocaleString("en")} of ${this.length.toLocaleString("en")}.`, ...ahead].join(" "));
    }
  }
}

function startViewers() {
  for (const root of document.querySelectorAll(".surpass-viewer")) {
    const data = document.getElementById(`${root.id}-recordings`);
    if (root.surpassViewer || !data) continue;
    root.surpassViewer = new Viewer(root, JSON.parse(data.textContent));
  }
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", startViewers);
else startViewers();
