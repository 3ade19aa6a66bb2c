"use strict";
/* Words stand in a node from SMALLEST pixels on; LARGEST is the size that its box holds. The whole is never shown at more
   than CLOSEST. */
const SMALLEST = 8, LARGEST = 28, CLOSEST = 1.5;
/* Draws the graph on a canvas: areas, edges and nodes as far as they are large enough to see, and a word for what is not.
   `Graph` knows nothing of the rest of the page: it tells `onSelect` what was chosen. */
class Graph {
  constructor(canvas, tip, data, onSelect) {
    this.canvas = canvas;
    this.tip = tip;
    this.data = data;
    this.onSelect = onSelect;
    this.edges = data.edges;
    this.nodes = data.nodes;
    this.count = this.nodes.id.length;
    this.node = -1;
    this.part = -1;
    this.hits = null;
    this.transform = d3.zoomIdentity;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.writes = Array.from({ length: this.count }, () => []);
    this.reads = Array.from({ length: this.count }, () => []);
    const ends = this.edges;
    for (let edge = 0; edge < ends.length; edge += 2) {
      this.writes[ends[edge]].push(edge / 2);
      this.reads[ends[edge + 1]].push(edge / 2);
    }
    this.scopes = this.nodes.id.map((id) => id.slice(0, Math.max(id.lastIndexOf("/"), id.lastIndexOf("."), 0)));
    this.take(this.suited());
    this.readColours();
    this.zoom = d3.zoom()
      .scaleExtent([0.005, 4])
      .filter((event) => !event.button && (event.type !== "wheel" || event.ctrlKey || document.activeElement === canvas))
      .on("zoom", (event) => { this.transform = event.transform; this.say(); this.redraw(); });
    this.selection = d3.select(canvas).call(this.zoom).on("dblclick.zoom", null);
    canvas.addEventListener("click", (event) => this.pick(event));
    canvas.addEventListener("mousemove", (event) => this.point(event));
    canvas.addEventListener("mouseleave", () => this.say());
    this.untouched = true;
    canvas.addEventListener("pointerdown", () => { this.untouched = false; canvas.focus({ preventScroll: true }); });
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  /* The picture that fills most of this screen. */
  suited() {
    const screen = this.canvas.parentElement.clientWidth / this.tallest();
    const off = ({ extent: [left, top, right, bottom] }) => Math.abs(Math.log((right - left) / (bottom - top) / screen));
    return this.data.pictures.reduce((best, each) => (off(each) < off(best) ? each : best));
  }

  tallest() { return Math.max(innerHeight * 0.82, 420); }

  take(picture) {
    this.picture = picture;
    this.turns = new Set(picture.turns);
    this.chunks = this.cut();
    this.bands = new Map();
  }

  /* Nodes and edges in chunks that are drawn or left out together: neighbours in running order stand side by side. */
  cut() {
    const { x, y, node: [width, height] } = this.picture;
    const { edges } = this;
    const chunks = [];
    for (let start = 0; start < this.count; start += 128) {
      const end = Math.min(start + 128, this.count);
      const chunk = { start, end, box: [Infinity, Infinity, -Infinity, -Infinity], fills: new Map(), lines: new Path2D(), rails: new Path2D() };
      const reach = (px, py) => {
        const box = chunk.box;
        box[0] = Math.min(box[0], px - width); box[1] = Math.min(box[1], py - height);
        box[2] = Math.max(box[2], px + width); box[3] = Math.max(box[3], py + height);
      };
      for (let node = start; node < end; node++) {
        reach(x[node], y[node]);
        const colour = this.colourOf(node);
        if (!chunk.fills.has(colour)) chunk.fills.set(colour, new Path2D());
        chunk.fills.get(colour).rect(x[node] - width / 2, y[node] - height / 2, width, height);
        for (const edge of this.writes[node]) {
          this.trace(edge, this.turns.has(edge) ? chunk.rails : chunk.lines);
          reach(x[edges[2 * edge + 1]], y[edges[2 * edge + 1]]);
        }
      }
      chunks.push(chunk);
    }
    return chunks;
  }

  colourOf(node) { return this.data.parts[this.nodes.part[node]].engine; }

  trace(edge, path) {
    const { x, y, node: [, height], routes } = this.picture;
    const { edges } = this;
    const from = edges[2 * edge], to = edges[2 * edge + 1];
    const points = [[x[from], y[from] + height / 2]];
    const route = routes[edge] || [];
    for (let at = 0; at < route.length; at += 2) points.push([route[at], route[at + 1]]);
    points.push([x[to], y[to] - height / 2]);
    path.moveTo(...points[0]);
    if (this.turns.has(edge)) {
      for (let at = 1; at < points.length - 1; at++) path.arcTo(...points[at], ...points[at + 1], 5);
      path.lineTo(...points[points.length - 1]);
      return;
    }
    for (let at = 1; at < points.length; at++) {
      const [ax, ay] = points[at - 1], [bx, by] = points[at], middle = (ay + by) / 2;
      if (Math.abs(ax - bx) < 1) path.lineTo(bx, by);
      else path.bezierCurveTo(ax, middle, bx, middle, bx, by);
    }
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    this.palette = Array.from({ length: this.data.colours }, (_, number) => read(`--e${number}`));
    this.ink = read("--ink"); this.soft = read("--soft"); this.card = read("--card"); this.accent = read("--accent"); this.focus = read("--focus");
    this.family = getComputedStyle(document.body).fontFamily;
    this.redraw();
  }

  /* The box is as tall as the picture needs at its width, so that none of it is empty. */
  shape() {
    const [left, top, right, bottom] = this.picture.extent;
    const width = this.canvas.parentElement.clientWidth;
    const k = Math.min(CLOSEST, (width - 2 * this.margin(width)) / (right - left));
    const height = Math.max(width < 600 ? 240 : 300, Math.min(this.tallest(), Math.round((bottom - top) * k + 2 * this.margin(width))));
    this.canvas.closest(".stage").style.setProperty("--view", `${height}px`);
  }

  resize() {
    if (this.canvas.clientWidth && this.suited() !== this.picture) { this.take(this.suited()); this.untouched = true; }
    this.shape();
    const { clientWidth, clientHeight } = this.canvas;
    const ratio = window.devicePixelRatio || 1;
    if (!clientWidth || !clientHeight) return;
    this.width = clientWidth; this.height = clientHeight; this.ratio = ratio;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    if (this.untouched && this.node < 0 && this.part < 0) this.fit(false);
    this.draw();
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  draw() {
    if (!this.width) return;
    const began = performance.now();
    const context = this.canvas.getContext("2d");
    const { x: left, y: top, k } = this.transform;
    const view = [-left / k, -top / k, (this.width - left) / k, (this.height - top) / k];
    const sees = ([a, b, c, d]) => c >= view[0] && a <= view[2] && d >= view[1] && b <= view[3];
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.translate(left, top);
    context.scale(k, k);
    const shown = this.chunks.filter((chunk) => sees(chunk.box));
    this.drawAreas(context, k, sees);
    this.drawEdges(context, k, shown);
    this.drawNodes(context, k, view, shown);
    this.drawChosen(context, k);
    this.placed = [];
    this.drawTitles(context, k, sees);
    if (k * LARGEST < SMALLEST && !this.hits) this.drawBands(context, k, sees);
    this.drawName(context, k);
    this.spent = performance.now() - began;
  }

  drawAreas(context, k, sees) {
    for (const [part, left, top, right, bottom] of this.picture.boxes) {
      if (!sees([left, top - 30, right, bottom])) continue;
      const chosen = part === this.part;
      context.beginPath();
      context.roundRect(left, top, right - left, bottom - top, 12);
      context.globalAlpha = (chosen ? 0.3 : 0.1) + (k < 0.2 ? 0.12 : 0);
      context.fillStyle = this.palette[this.data.parts[part].engine];
      context.fill();
      context.globalAlpha = chosen ? 1 : 0.5;
      context.lineWidth = (chosen ? 2.5 : 1) / Math.min(k, 1);
      context.strokeStyle = context.fillStyle;
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  drawEdges(context, k, shown) {
    context.strokeStyle = this.soft;
    context.lineWidth = Math.max(1.2, 0.8 / k);
    context.globalAlpha = this.hits ? 0.25 : k < 0.15 ? 0.5 : 0.9;
    for (const chunk of shown) context.stroke(chunk.lines);
    context.globalAlpha *= 0.6;
    for (const chunk of shown) context.stroke(chunk.rails);
    context.globalAlpha = 1;
  }

  drawNodes(context, k, view, shown) {
    const { x, y, node: [width, height] } = this.picture;
    const words = k * LARGEST >= SMALLEST;
    if (!words && !this.hits) { // too small for words: whole chunks at once
      for (const chunk of shown) {
        for (const [colour, path] of chunk.fills) { context.fillStyle = this.palette[colour]; context.fill(path); }
      }
      return;
    }
    const roomy = k >= 0.62;
    const size = roomy ? 12 : Math.max(13, Math.min(LARGEST, 9.5 / k)); // words fill their box where it is small
    context.textBaseline = "middle";
    for (const { start, end } of shown) {
      for (let node = start; node < end; node++) {
        const px = x[node] - width / 2, py = y[node] - height / 2;
        if (px > view[2] || px + width < view[0] || py > view[3] || py + height < view[1]) continue;
        context.globalAlpha = this.hits && !this.hits.has(node) ? 0.18 : 1;
        const colour = this.palette[this.colourOf(node)];
        if (!words) { context.fillStyle = colour; context.fillRect(px, py, width, height); continue; }
        context.beginPath();
        context.roundRect(px, py, width, height, 6);
        context.fillStyle = this.card;
        context.fill();
        const alpha = context.globalAlpha;
        context.globalAlpha = alpha * 0.2;
        context.fillStyle = colour;
        context.fill();
        context.globalAlpha = alpha;
        context.strokeStyle = colour;
        context.lineWidth = 1.4;
        context.stroke();
        context.fillRect(px, py + 5, 5, height - 10);
        context.fillStyle = this.ink;
        context.font = `600 ${size}px ${this.family}`;
        context.fillText(this.clip(context, this.nodes.ops[this.nodes.op[node]], width - 16), px + 10, roomy ? py + 12 : y[node]);
        if (roomy) {
          context.font = `10.5px ${this.family}`;
          context.fillStyle = this.soft;
          context.fillText(this.clip(context, this.nodes.id[node], width - 16, true), px + 10, py + 25);
        }
      }
    }
    context.globalAlpha = 1;
  }

  /* Long names differ at their end: that is what is kept of them. */
  clip(context, text, room, end = false) {
    if (text.length > 200) text = end ? text.slice(-200) : text.slice(0, 200);
    if (context.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    const cut = (count) => end ? "…" + text.slice(text.length - count) : text.slice(0, count) + "…";
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (context.measureText(cut(middle)).width <= room) low = middle; else high = middle - 1;
    }
    return cut(low);
  }

  drawChosen(context, k) {
    if (this.node < 0) return;
    const { x, y, node: [width, height] } = this.picture;
    const path = new Path2D();
    for (const edge of [...this.reads[this.node], ...this.writes[this.node]]) this.trace(edge, path);
    context.strokeStyle = this.accent;
    context.lineWidth = Math.max(2.2, 1.6 / k);
    context.stroke(path);
    const margin = 3 / Math.min(k, 1);
    context.beginPath();
    context.roundRect(x[this.node] - width / 2 - margin, y[this.node] - height / 2 - margin, width + 2 * margin, height + 2 * margin, 8);
    context.strokeStyle = this.focus;
    context.lineWidth = Math.max(3, 3 / k);
    context.stroke();
  }

  /* Titles keep their size on the screen; where there is no room above an area they stand in it, or are left out. */
  drawTitles(context, k, sees) {
    const { x: shiftX, y: shiftY } = this.transform;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.textBaseline = "alphabetic";
    const begun = new Set();
    for (const [part, left, top, right, bottom] of this.picture.boxes) {
      const first = !begun.has(part);
      begun.add(part);
      if (!sees([left, top - 30, right, bottom])) continue;
      const facts = this.data.parts[part];
      const size = k > 0.5 ? 13 : 12;
      const words = k * LARGEST >= SMALLEST;
      const end = first ? this.roomBeside(part, top, right, words, (this.width - shiftX) / k) : right;
      const room = (Math.max(right, end) - left) * k - 8;
      const tall = (bottom - top) * k;
      const above = 42 * k >= size;
      if (room < 20 || (!above && (tall < 22 || k * LARGEST >= SMALLEST))) continue;
      context.font = `650 ${size}px ${this.family}`;
      const time = facts.ms === "-" ? facts.predicted : facts.ms;
      const full = `${part + 1} · ${facts.label}${!first ? ", continued" : time === "-" ? "" : ` · ${time} ms`}`;
      const text = [full, `${part + 1} · ${facts.label}`, facts.label].find((each) => context.measureText(each).width <= room) || String(part + 1);
      const px = left * k + shiftX + 4, py = above ? top * k + shiftY - 5 : top * k + shiftY + 16;
      this.write(context, text, px, py, size);
    }
  }

  /* How far to the right the title of a partition may reach: to the next one's, and over no words of nodes. */
  roomBeside(part, top, right, words, end) {
    for (const [other, left, above, , below] of this.picture.boxes) {
      if (left < right || left >= end) continue;
      const title = above <= top + 20 && above >= top - 40, inside = above < top - 40 && below > top - 40;
      if ((title && other !== part) || (inside && (words || other !== part))) end = left;
    }
    return end;
  }

  /* Words over the picture, with an edge of paper; false where other words are already. */
  write(context, text, px, py, size, around = 0) {
    const box = [px - 3 - around, py - size - around, px + context.measureText(text).width + 3 + around, py + 4 + around];
    if (this.placed.some(([a, b, c, d]) => box[0] < c && a < box[2] && box[1] < d && b < box[3])) return false;
    this.placed.push(box);
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = this.card;
    context.strokeText(text, px, py);
    context.fillStyle = this.ink;
    context.fillText(text, px, py);
    return true;
  }

  /* Where nodes are too small for words: a word for each run of them, as a map names towns. */
  drawBands(context, k, sees) {
    const { x: shiftX, y: shiftY } = this.transform;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.textBaseline = "alphabetic";
    context.font = `600 11px ${this.family}`;
    for (const { left, top, right, bottom, text } of this.bandsAt(k)) {
      if (!sees([left, top, right, bottom])) continue;
      const px = left * k + shiftX + 4, py = ((top + bottom) / 2) * k + shiftY + 4;
      if (px < 0 || py < 12 || px > this.width - 30 || py > this.height) continue;
      this.write(context, this.clip(context, text, Math.min(130, this.width - px - 4)), px, py, 11, 9);
    }
  }

  /* Runs of about 48 pixels, the same for scales that are near one another. */
  bandsAt(k) {
    const tall = 2 ** (Math.ceil(2 * Math.log2(48 / k)) / 2);
    if (this.bands.has(tall)) return this.bands.get(tall);
    const { x, y, node: [width], boxes } = this.picture;
    const found = new Map();
    const areas = boxes.map((box, number) => [number, ...box]);
    const byPart = this.data.parts.map((_, part) => areas.filter((area) => area[1] === part));
    for (let node = 0; node < this.count; node++) {
      const area = byPart[this.nodes.part[node]].find(([, , left, top, right, bottom]) => x[node] > left && x[node] < right && y[node] > top && y[node] < bottom);
      if (!area) continue;
      const [number, , , top] = area, band = Math.floor((y[node] - top) / tall), key = `${number} ${band}`;
      if (!found.has(key)) found.set(key, { left: Infinity, right: -Infinity, top: top + band * tall, bottom: Math.min(top + (band + 1) * tall, area[5]), nodes: [] });
      const held = found.get(key);
      held.left = Math.min(held.left, x[node] - width / 2); held.right = Math.max(held.right, x[node] + width / 2);
      held.nodes.push(node);
    }
    const bands = [...found.values()].map((band) => ({ ...band, text: this.nameOf(band.nodes) }));
    this.bands.set(tall, bands);
    return bands;
  }

  /* What a run is called: the paths of its first and last names, or its most frequent operators. */
  nameOf(nodes) {
    const paths = [nodes[0], nodes[nodes.length - 1]].map((node) => this.scopes[node]).filter(Boolean);
    if (paths.length) return [...new Set(paths.map((path) => path.split("/").filter(Boolean).slice(-2).join("/")))].join(" … ");
    const counts = new Map();
    for (const node of nodes) { const op = this.nodes.ops[this.nodes.op[node]]; counts.set(op, (counts.get(op) || 0) + 1); }
    return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 2).map(([op, count]) => (count > 1 ? `${count} ${op}` : op)).join(", ");
  }

  /* The name of the node that was chosen, where its box is too small to hold it. */
  drawName(context, k) {
    if (this.node < 0 || k >= 0.62) return;
    const { x, y, node: [width, height] } = this.picture;
    const { x: shiftX, y: shiftY } = this.transform;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.textBaseline = "alphabetic";
    context.font = `650 13px ${this.family}`;
    const text = this.clip(context, this.nameOfNode(this.node), this.width - 16);
    const px = Math.max(6, Math.min((x[this.node] - width / 2) * k + shiftX, this.width - context.measureText(text).width - 8));
    this.placed = [];
    this.write(context, text, px, (y[this.node] - height / 2) * k + shiftY - 7, 13);
  }

  nameOfNode(node) { return `${this.nodes.ops[this.nodes.op[node]]} · ${this.nodes.id[node]}`; }

  nameOfPart(part) {
    const { label, ms, nodes } = this.data.parts[part];
    return `partition ${part + 1} · ${label} · ${ms === "-" ? `${nodes} node${nodes === 1 ? "" : "s"}` : `${ms} ms`}`;
  }

  /* A word beside the pointer; nothing hides it. */
  say(text, px, py) {
    this.tip.hidden = !text;
    if (!text) return;
    this.tip.textContent = text.length > 300 ? `${text.slice(0, 150)} … ${text.slice(-150)}` : text;
    const { offsetWidth, offsetHeight } = this.tip;
    this.tip.style.left = `${Math.max(4, Math.min(px + 14, this.width - offsetWidth - 4))}px`;
    this.tip.style.top = `${py + 20 + offsetHeight > this.height ? Math.max(4, py - offsetHeight - 10) : py + 20}px`;
  }

  /* What lies under a point of the canvas. */
  at(px, py) {
    const [wx, wy] = this.transform.invert([px, py]);
    const { x, y, node: [width, height], boxes } = this.picture;
    const slack = Math.max(0, 6 / this.transform.k - height / 4);
    let nearest = -1, best = Infinity;
    for (let node = 0; node < this.count; node++) {
      const dx = Math.abs(wx - x[node]), dy = Math.abs(wy - y[node]);
      if (dx <= width / 2 + slack && dy <= height / 2 + slack && dx + dy < best) { nearest = node; best = dx + dy; }
    }
    if (nearest >= 0) return { node: nearest, part: -1 };
    const box = boxes.find(([, left, top, right, bottom]) => wx >= left && wx <= right && wy >= top - 30 && wy <= bottom);
    return { node: -1, part: box ? box[0] : -1 };
  }

  pick(event) {
    if (event.defaultPrevented) return;
    const { node, part } = this.at(event.offsetX, event.offsetY);
    this.select(node, part);
    this.onSelect(node, part);
  }

  point(event) {
    if (event.buttons) return;
    const { node, part } = this.at(event.offsetX, event.offsetY);
    this.say(node >= 0 ? this.nameOfNode(node) : part >= 0 ? this.nameOfPart(part) : "", event.offsetX, event.offsetY);
    this.canvas.style.cursor = node < 0 ? "" : "pointer";
  }

  select(node, part) { this.node = node; this.part = part; this.redraw(); }

  mark(hits) { this.hits = hits; this.redraw(); }

  fit(moving = true) { this.show(this.picture.extent, CLOSEST, moving); }

  margin(width) { return Math.min(24, width * 0.04); }

  showNode(node) {
    const { x, y, node: [width, height] } = this.picture;
    const reach = Math.min(3.2, this.width / width / 1.5); // a small screen shows less around it, but its name
    this.show([x[node] - width * reach, y[node] - height * reach, x[node] + width * reach, y[node] + height * reach], 1.1);
  }

  showPart(part) {
    const own = this.picture.boxes.filter((box) => box[0] === part);
    const far = (side, pick) => pick(...own.map((box) => box[side]));
    this.show([far(1, Math.min), far(2, Math.min) - 34, far(3, Math.max), far(4, Math.max)], 1.3);
  }

  show([left, top, right, bottom], closest, moving = true) {
    if (!this.width) return;
    const margin = this.margin(this.width);
    const k = Math.max(0.005, Math.min(closest, (this.width - 2 * margin) / (right - left), (this.height - 2 * margin) / (bottom - top)));
    const target = d3.zoomIdentity.translate(this.width / 2, this.height / 2).scale(k).translate(-(left + right) / 2, -(top + bottom) / 2);
    if (moving && !this.still.matches) this.selection.transition().duration(320).call(this.zoom.transform, target);
    else this.selection.interrupt().call(this.zoom.transform, target);
  }

  scale(factor) {
    this.untouched = false;
    if (this.still.matches) this.selection.call(this.zoom.scaleBy, factor);
    else this.selection.transition().duration(160).call(this.zoom.scaleBy, factor);
  }

  pan(dx, dy) { this.untouched = false; this.selection.call(this.zoom.translateBy, dx / this.transform.k, dy / this.transform.k); }

  /* The node that an arrow key leads to: up and down along the edges, left and right in running order. */
  next(key) {
    const { edges, picture: { x } } = this;
    const nearest = (nodes) => nodes.sort((a, b) => Math.abs(x[a] - x[this.node]) - Math.abs(x[b] - x[this.node]))[0];
    if (key === "ArrowUp") return nearest(this.reads[this.node].map((edge) => edges[2 * edge]));
    if (key === "ArrowDown") return nearest(this.writes[this.node].map((edge) => edges[2 * edge + 1]));
    const step = this.node + (key === "ArrowRight" ? 1 : -1);
    return step >= 0 && step < this.count ? step : undefined;
  }
}
