// The picture of one moment of a recording, drawn on a canvas.

const ARROW_COLOURS = 6;
const BEHIND = 16; // how much room, in pixels, an arrow has that stands behind the last bar

/** What a recording shows at a moment: slots hold numbers of texts. Seeking goes from the nearest kept moment. */
class Reel {
  constructor(recording) {
    this.recording = recording;
    this.length = recording.steps.action.length;
    this.every = 200;
    this.kept = [];
    this.rows = recording.lists.filter((list) => !list.flags).map((list) => ({ ...list, ...this.scaleOf(list) }));
    this.flags = recording.lists.filter((list) => list.flags);
    this.rewind();
  }

  rewind() {
    this.at = 0;
    this.slots = Int32Array.from(this.recording.start);
    this.stack = [];
    if (!this.kept.length) this.keep();
  }

  keep() {
    this.kept.push({ slots: this.slots.slice(), stack: this.stack.slice() });
  }

  /** The lowest and the highest value that a list ever holds, with the line across it. */
  scaleOf(list) {
    const { start, steps, heights, level } = this.recording;
    let low = 0, high = 0;
    const see = (slot, text) => {
      if ((slot >= list.first && slot < list.first + list.count) || slot === level) {
        low = Math.min(low, heights[text]);
        high = Math.max(high, heights[text]);
      }
    };
    start.forEach((text, slot) => see(slot, text));
    for (const changes of steps.changes) for (let k = 0; k < changes.length; k += 2) see(changes[k], changes[k + 1]);
    return { low, high };
  }

  seek(moment) {
    const target = Math.max(0, Math.min(moment, this.length));
    const nearest = Math.min(Math.floor(target / this.every), this.kept.length - 1);
    if (target < this.at || nearest * this.every > this.at) {
      this.at = nearest * this.every;
      this.slots.set(this.kept[nearest].slots);
      this.stack = this.kept[nearest].stack.slice();
    }
    while (this.at < target) this.forward();
  }

  forward() {
    const { changes, stack } = this.recording.steps;
    const change = changes[this.at], [open, ...opened] = stack[this.at];
    for (let k = 0; k < change.length; k += 2) this.slots[change[k]] = change[k + 1];
    if (open < this.stack.length) this.stack.length = open;
    this.stack.push(...opened);
    this.at += 1;
    if (this.at % this.every === 0 && this.kept.length === this.at / this.every) this.keep();
  }

  text(slot) {
    return this.recording.texts[this.slots[slot]];
  }

  height(slot) {
    return this.recording.heights[this.slots[slot]];
  }

  /** What the last step did, as texts; at the start nothing. */
  told(what, otherwise = "") {
    return this.at === 0 ? otherwise : this.recording.texts[this.recording.steps[what][this.at - 1]];
  }

  get rule() {
    return this.at === 0 ? null : this.recording.steps.rule[this.at - 1];
  }

  /** Where the level can be: everywhere at first, null when it can be nowhere. */
  get bracket() {
    if (!this.recording.bracket) return null;
    return this.at === 0 ? [0, this.recording.size - 1] : this.recording.steps.bracket[this.at - 1];
  }

  get changed() {
    const found = new Set();
    if (this.at > 0) this.recording.steps.changes[this.at - 1].forEach((part, k) => k % 2 === 0 && found.add(part));
    return found;
  }

  /** The names of the registers that stand at each position. */
  get arrows() {
    const { changed } = this;
    return this.recording.positions.map((slot, number) => ({
      name: this.recording.names[slot],
      at: Number(this.text(slot)),
      rows: this.recording.rows[number],
      number,
      moved: changed.has(slot),
    }));
  }
}

/** Give a canvas as many pixels as it has on the screen, and return its width and height on the page. */
function fitCanvas(canvas) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  return [width, height];
}

/** Draws a reel on a canvas, in the colours of the page. */
class Renderer {
  constructor(canvas, reel) {
    this.canvas = canvas;
    this.reel = reel;
    this.context = canvas.getContext("2d");
    this.columns = Math.max(1, ...reel.rows.map((row) => row.count), ...reel.recording.bars.map((bar) => bar.values.length));
    // Room for one that stands behind the last, as the index of an item may.
    const behind = reel.recording.bars.length > 0 || reel.recording.positions.some((slot) => this.standsBehind(slot));
    this.places = this.columns + (behind && reel.recording.positions.length ? 1 : 0);
    this.behind = this.places > this.columns ? BEHIND : 0;
    this.readColours();
  }

  standsBehind(slot) {
    const { start, steps, texts } = this.reel.recording;
    const end = String(this.columns);
    if (texts[start[slot]] === end) return true;
    return steps.changes.some((c) => c.some((part, k) => k % 2 === 0 && part === slot && texts[c[k + 1]] === end));
  }

  readColours() {
    const style = getComputedStyle(this.canvas);
    const read = (name) => style.getPropertyValue(`--surpass-${name}`).trim();
    this.colours = Object.fromEntries(
      ["card", "ink", "faint", "rule", "bar", "bar-changed", "lit", "lit-changed", "level", "bracket"].map((n) => [n, read(n)]),
    );
    this.arrowColours = Array.from({ length: ARROW_COLOURS }, (_, k) => read(`arrow-${k + 1}`));
    this.font = style.fontFamily;
  }

  /** Take the size that the canvas has on the page; to ask for it at every picture would cost more than drawing. */
  measure() {
    [this.width, this.height] = fitCanvas(this.canvas);
  }

  draw() {
    const { width, height } = this;
    const pen = this.context;
    pen.clearRect(0, 0, width, height);
    const rows = this.rows(), all = this.reel.arrows;
    const arrows = rows.map((_, row) => all.filter((arrow) => arrow.rows.includes(row)));
    const below = arrows.map((some) => (some.length ? 16 + 15 * Math.min(some.length, ARROW_COLOURS) : 6));
    const tall = (height - below.reduce((a, b) => a + b, 0)) / Math.max(1, rows.length);
    const wide = (width - this.behind) / this.columns;
    let base = 0;
    rows.forEach((row, number) => {
      base += tall;
      this.drawRow(row, base, tall, wide, number === rows.length - 1, rows.length);
      this.drawArrows(arrows[number], row.count, base, wide);
      base += below[number];
    });
  }

  /** Every row of bars: its name, and the height from 0 to 1, the text and the slot of each. */
  rows() {
    const { recording, rows } = this.reel;
    const fixed = recording.bars.map((bar) => {
      const high = Math.max(...bar.values, 0) || 1;
      return { name: bar.name, count: bar.values.length, height: (k) => bar.values[k] / high, text: (k) => bar.texts[k] };
    });
    return fixed.concat(rows.map((row) => {
      const span = row.high - row.low || 1;
      return {
        name: row.name,
        count: row.count,
        first: row.first,
        height: (k) => 0.05 + (0.95 * (this.reel.height(row.first + k) - row.low)) / span,
        text: (k) => this.reel.text(row.first + k),
        scale: (value) => 0.05 + (0.95 * (value - row.low)) / span,
      };
    }));
  }

  drawRow(row, base, tall, wide, isLast, rows) {
    const pen = this.context, colours = this.colours;
    const title = rows > 1 ? 18 : 0, room = tall - 24 - title;
    const gap = wide >= 4 ? Math.min(4, wide * 0.18) : 0;
    const bracket = isLast ? this.reel.bracket : null;
    if (bracket) {
      const x = bracket[0] * wide, w = (bracket[1] - bracket[0] + 1) * wide;
      pen.fillStyle = colours.bracket;
      pen.fillRect(x, base - room - 14, w, room + 14);
      pen.fillStyle = colours.lit;
      pen.fillRect(x, base - room - 14, Math.max(w, 2), 3);
    }
    const flagged = (k) => this.reel.flags.some((list) => k < list.count && this.reel.text(list.first + k) !== "0");
    const changed = this.reel.changed;
    const step = Math.max(1, Math.floor(1 / (wide * (window.devicePixelRatio || 1))));
    let longest = 1;
    if (wide >= 12) for (let k = 0; k < row.count; k += 1) longest = Math.max(longest, row.text(k).length);
    const size = Math.min(13, (wide - 1) / (0.65 * longest)), isWritten = wide >= 12 && size >= 7.5;
    const isNew = (k) => row.first !== undefined && changed.has(row.first + k);
    let colour = "";
    for (let k = 0; k < row.count; k += step) {
      let high = row.height(k);
      for (let j = k + 1; j < Math.min(k + step, row.count); j += 1) high = Math.max(high, row.height(j));
      const wanted = (flagged(k) ? "lit" : "bar") + (isNew(k) ? "-changed" : "");
      if (wanted !== colour) pen.fillStyle = colours[wanted];
      colour = wanted;
      pen.fillRect(k * wide + gap / 2, base - high * room, Math.max(step * wide - gap, 0.7), high * room);
    }
    pen.fillStyle = colours.rule;
    pen.fillRect(0, base - 0.5, row.count * wide, 1);
    const hasLevel = isLast && this.reel.recording.level !== null && row.scale;
    const level = hasLevel ? base - row.scale(this.reel.height(this.reel.recording.level)) * room : null;
    if (hasLevel) {
      pen.fillStyle = colours.level;
      pen.fillRect(0, level - 1, row.count * wide, 2);
    }
    if (isWritten) {
      pen.font = `${size.toFixed(1)}px ${this.font}`;
      pen.textAlign = "center";
      pen.textBaseline = "alphabetic";
      for (let k = 0; k < row.count; k += 1) {
        const y = base - row.height(k) * room - 4, text = row.text(k);
        if (hasLevel && level > y - size - 2 && level < y + 3) {
          // The line does not go through what is written.
          pen.fillStyle = bracket && k >= bracket[0] && k <= bracket[1] ? colours.bracket : colours.card;
          const half = pen.measureText(text).width / 2 + 1;
          pen.fillRect((k + 0.5) * wide - half, y - size, 2 * half, size + 3);
        }
        pen.fillStyle = isNew(k) ? colours.ink : colours.faint;
        pen.fillText(text, (k + 0.5) * wide, y);
      }
    }
    if (title) {
      pen.font = `12px ${this.font}`;
      pen.textAlign = "left";
      pen.fillStyle = colours.faint;
      pen.fillText(row.name, 0, base - tall + 13);
    }
    if (hasLevel) this.nameLevel(row, base, room, wide, level);
  }

  /** Write what the line across the bars is, above it, where nothing else is written if there is such a place. */
  nameLevel(row, base, room, wide, level) {
    const pen = this.context, { recording } = this.reel;
    const text = `${recording.names[recording.level]} = ${this.reel.text(recording.level)}`;
    pen.font = `600 13px ${this.font}`;
    pen.textAlign = "left";
    const width = pen.measureText(text).width + 6, end = row.count * wide;
    const isFree = (x) => {
      for (let k = Math.max(0, Math.floor(x / wide)); k < row.count && k * wide < x + width; k += 1) {
        const top = base - row.height(k) * room;
        if (top < level + 18 && top > level - 22) return false;
      }
      return true;
    };
    const places = [0, end - width, ...Array.from({ length: 8 }, (_, k) => ((k + 1) / 9) * (end - width))];
    const x = places.find((place) => place >= 0 && isFree(place)) ?? 0;
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    pen.strokeStyle = this.colours.card;
    pen.strokeText(text, x + 2, level - 5);
    pen.fillStyle = this.colours.level;
    pen.fillText(text, x + 2, level - 5);
  }

  drawArrows(arrows, count, base, wide) {
    const pen = this.context, met = new Set(), ends = [];
    pen.textBaseline = "alphabetic";
    for (const arrow of arrows) {
      if (!(arrow.at >= 0 && arrow.at < this.places)) continue;
      const x = arrow.at < this.columns ? (arrow.at + 0.5) * wide : this.columns * wide + this.behind / 2;
      pen.fillStyle = this.arrowColours[arrow.number % ARROW_COLOURS];
      if (!met.has(arrow.at)) {
        met.add(arrow.at);
        pen.beginPath();
        pen.moveTo(x, base + 2);
        pen.lineTo(x - 5, base + 11);
        pen.lineTo(x + 5, base + 11);
        pen.fill();
        if (wide >= 4 && arrow.at < count) pen.fillRect(arrow.at * wide + 1, base - 3, wide - 2, 3);
      }
      pen.font = `${arrow.moved ? "700" : "500"} 13px ${this.font}`;
      const half = pen.measureText(arrow.name).width / 2, middle = Math.max(half, Math.min(x, this.width - half));
      // In the first line in which no other name is in the way.
      let line = 0;
      while (ends.some(([at, left, right]) => at === line && middle - half < right + 3 && middle + half > left - 3)) line += 1;
      ends.push([line, middle - half, middle + half]);
      pen.textAlign = "center";
      pen.fillText(arrow.name, middle, base + 24 + 15 * line);
    }
  }
}
