"use strict";
/* Everything on the page but the drawing: search, details, the list of nodes, the theme, copying. Names come from models:
   they are set as text, never as markup. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { nodes, parts, segments } = data;
  const byId = (id) => document.getElementById(id);
  const PAGE = 100;

  function make(tag, facts = {}, ...inside) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(facts)) {
      if (name === "onclick") made.addEventListener("click", value);
      else if (value !== undefined) made.setAttribute(name, value);
    }
    made.append(...inside.filter((each) => each !== null && each !== undefined));
    return made;
  }

  /* Theme: what the system says, until somebody chooses. */
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const kept = { read() { try { return localStorage.getItem("intarsia-theme"); } catch { return null; } }, write(theme) { try { localStorage.setItem("intarsia-theme", theme); } catch { /* a file may have no storage */ } } };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  function showTheme() {
    byId("theme").setAttribute("aria-pressed", String(isDark()));
    byId("theme").textContent = isDark() ? "Light" : "Dark";
    byId("theme").setAttribute("aria-label", `Switch to the ${isDark() ? "light" : "dark"} theme`);
    if (graph) graph.readColours();
  }
  byId("theme").addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; kept.write(root.dataset.theme); showTheme(); });
  dark.addEventListener("change", showTheme);

  /* Details */
  const panel = byId("panel");
  const canvas = byId("canvas");
  let graph = null;
  const dot = (engine) => make("span", { class: `dot e${engine}` });
  const counted = (nodes) => `${nodes} node${nodes === 1 ? "" : "s"}`;

  function partButton(number) {
    const part = parts[number];
    const time = part.ms === "-" ? part.predicted : part.ms;
    return make("button", { type: "button", onclick: () => choose(-1, number, true) }, dot(part.engine), make("span", {}, String(number + 1)), make("span", {}, part.label), make("span", {}, time === "-" ? counted(part.nodes) : `${time} ms`));
  }

  function overview() {
    const list = make("ul", { class: "partlist" });
    parts.slice(0, 400).forEach((_, number) => list.append(make("li", {}, partButton(number))));
    const rest = parts.length > 400 ? make("p", {}, `and ${parts.length - 400} more`) : null;
    panel.replaceChildren(make("h3", { class: "title" }, parts.length === 1 ? "One partition" : `${parts.length} partitions, in running order`), list, rest ?? "", make("p", { class: "note" }, "Choose a partition or a node to see which engine runs it, and why."));
  }

  function why(number) {
    const part = parts[number];
    const shown = document.createDocumentFragment();
    const time = part.ms !== "-" ? `took ${part.ms} ms here` : part.predicted !== "-" ? `is predicted to take ${part.predicted} ms here` : "was not timed";
    const share = part.share === "-" ? "" : `, ${part.share} of a run`;
    const turn = part.transition === null ? "" : `; ${part.transition} ms of what was predicted is the transition from the engine before it`;
    shown.append(make("h3", {}, "Why this engine"), make("p", {}, `Partition ${number + 1} (${counted(part.nodes)}) ${time}${share}${turn}.`));
    if (part.alternatives.length) {
      const [first] = part.alternatives;
      const change = first.plan === null ? "" : first.plan.startsWith("-") ? `: by these figures the plan would be ${first.plan.slice(1)} ms faster` : `: the plan would be ${first.plan.slice(1)} ms slower`;
      shown.append(make("p", {}, `Runner-up: ${first.target}, ${first.ms} ms for this partition${change}.`));
    }
    if (part.alternatives.length > 1) {
      shown.append(make("h3", {}, "This partition on the others"), make("ul", { class: "costs" }, ...part.alternatives.map((each) => make("li", {}, make("span", {}, dot(each.engine), " ", each.target), make("span", {}, `${each.ms} ms${each.plan === null ? "" : ` (${each.plan})`}`)))));
    }
    if (part.refused.length) shown.append(make("h3", {}, "Not on"), make("ul", { class: "refused" }, ...part.refused.map((each) => make("li", {}, `${each.target}: ${each.reason}`))));
    return shown;
  }

  function engineLine(number) {
    const part = parts[number];
    return make("p", { class: "engine" }, dot(part.engine), make("span", {}, part.label === part.target ? part.label : `${part.label} `, part.label === part.target ? "" : make("span", { class: "mono" }, part.target)));
  }

  function showPart(number) {
    panel.replaceChildren(make("h3", { class: "title" }, `Partition ${number + 1}`), engineLine(number), why(number), back());
  }

  function back() { return make("p", {}, make("button", { type: "button", onclick: () => choose(-1, -1) }, "All partitions")); }

  function showNode(node) {
    const number = nodes.part[node];
    const facts = make("dl");
    const say = (name, value) => facts.append(make("dt", {}, name), make("dd", {}, value));
    if (nodes.ops) {
      say("Operator", nodes.ops[nodes.op[node]]);
      nodes.reads[node].forEach((text, at) => say(at ? "" : "Reads", nodes.texts[text]));
      nodes.makes[node].forEach((text, at) => say(at ? "" : "Makes", nodes.texts[text]));
    }
    say("Partition", make("button", { type: "button", class: "link", onclick: () => choose(-1, number, true) }, `${number + 1} of ${parts.length}`));
    panel.replaceChildren(make("h3", { class: "title" }, nodes.id[node]), engineLine(number), facts, why(number), segmentOf(node), back());
  }

  function segmentOf(node) {
    const number = nodes.segment ? nodes.segment[node] : null;
    if (number === null || !segments[number].costs.length) return "";
    const segment = segments[number];
    const { engine } = parts[nodes.part[node]];
    const where = segment.nodes === 1 ? "this node alone" : `${segment.nodes} nodes, ${segment.first} … ${segment.last}`;
    const rows = segment.costs.map((each) => {
      const fill = make("span", { class: "fill" }, make("i", { class: `e${each.engine}` }));
      fill.style.width = `${each.width}%`;
      return make("li", { class: each.engine === engine ? "here" : undefined }, make("span", {}, each.target), make("span", {}, `${each.ms} ms`), make("span", { class: "bar" }, fill));
    });
    return make("div", {}, make("h3", {}, `Its segment, ${number}, on each engine`), make("p", { class: "note" }, where), make("ul", { class: "costs" }, ...rows));
  }

  function choose(node, part, move = false) {
    if (node >= 0) showNode(node); else if (part >= 0) showPart(part); else overview();
    panel.scrollTop = 0;
    for (const row of byId("nodes").tBodies[0].rows) row.setAttribute("aria-selected", String(Number(row.dataset.node) === node));
    if (!graph) return;
    graph.select(node, part);
    if (move && node >= 0) graph.showNode(node);
    if (move && part >= 0) graph.showPart(part);
  }

  /* Search */
  const search = byId("search");
  const texts = nodes.id.map((id, node) => `${id} ${nodes.ops ? nodes.ops[nodes.op[node]] : ""} ${parts[nodes.part[node]].label}`.toLowerCase());
  let hits = texts.map((_, node) => node);
  let hit = -1;
  let first = 0;

  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits = [];
    texts.forEach((text, node) => { if (words.every((word) => text.includes(word))) hits.push(node); });
    hit = -1;
    first = 0;
    byId("found").textContent = words.length ? `${hits.length} of ${texts.length} nodes` : "";
    if (graph) graph.mark(words.length ? new Set(hits) : null);
    list();
  }

  function step(by) {
    if (!hits.length) return;
    hit = (hit + by + hits.length) % hits.length;
    byId("found").textContent = `${hit + 1} of ${hits.length}`;
    choose(hits[hit], -1, true);
  }

  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); step(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape" && search.value) { event.preventDefault(); event.stopPropagation(); search.value = ""; find(); }
  });

  /* The list of nodes, a page at a time */
  function list() {
    const body = byId("nodes").tBodies[0];
    const shown = hits.slice(first, first + PAGE);
    body.replaceChildren(...(byId("list").open ? shown : []).map((node) => make("tr", { "data-node": node, "aria-selected": "false" },
      make("th", { scope: "row" }, make("button", { type: "button", class: "link mono" }, nodes.id[node])),
      make("td", {}, nodes.ops ? nodes.ops[nodes.op[node]] : ""),
      make("td", {}, dot(parts[nodes.part[node]].engine), " ", parts[nodes.part[node]].label),
      make("td", { class: "number" }, String(nodes.part[node] + 1)),
      make("td", {}, nodes.makes ? nodes.makes[node].map((text) => nodes.texts[text]).join("; ") : ""))));
    byId("range").textContent = hits.length ? `${first + 1} to ${first + shown.length} of ${hits.length}` : "no node";
    byId("earlier").disabled = first === 0;
    byId("later").disabled = first + PAGE >= hits.length;
  }
  byId("list").addEventListener("toggle", list);
  byId("earlier").addEventListener("click", () => { first -= PAGE; list(); });
  byId("later").addEventListener("click", () => { first += PAGE; list(); });
  byId("nodes").tBodies[0].addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row) choose(Number(row.dataset.node), -1, true);
  });

  /* Parts named anywhere else on the page */
  document.addEventListener("click", (event) => {
    const named = event.target.closest("[data-part]");
    if (!named) return;
    choose(-1, Number(named.dataset.part) - 1, true);
    if (named.matches("button")) { byId("graph").scrollIntoView(); if (canvas) canvas.focus({ preventScroll: true }); }
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = byId(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });

  /* Keys */
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); search.focus(); search.select(); }
    if (event.key === "Escape") { if (typing) (canvas || panel).focus({ preventScroll: true }); else choose(-1, -1); }
  });

  if (canvas) {
    graph = new Graph(canvas, byId("tip"), data, (node, part) => choose(node, part));
    const PAN = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in PAN) {
        event.preventDefault();
        const next = graph.node < 0 ? undefined : graph.next(event.key);
        if (graph.node < 0) graph.pan(...PAN[event.key]);
        else if (next !== undefined) choose(next, -1, true);
      } else if (event.key === "+" || event.key === "=") graph.scale(1.4);
      else if (event.key === "-") graph.scale(1 / 1.4);
      else if (event.key === "0") graph.fit();
      else if (event.key === "Enter" && graph.node < 0) step(1);
    });
    byId("zoom-in").addEventListener("click", () => graph.scale(1.4));
    byId("zoom-out").addEventListener("click", () => graph.scale(1 / 1.4));
    byId("zoom-fit").addEventListener("click", () => graph.fit());
    window.intarsiaGraph = graph;
  }
  if (kept.read()) root.dataset.theme = kept.read();
  showTheme();
  overview();
  list();
})();
