// SPDX-License-Identifier: MIT
// inspect_text.js: draws the panes of the page: texts in colours, linked by source line. For two builds, the
// texts are side by side.

/* -- colours of text -- */

const rules = {
    python:
        /(?<c>#.*)|(?<s>"[^"]*"|'[^']*')|(?<w>\b(?:def|for|in|if|else|elif|while|return|import|from|as|and|or|not|lambda|assert|with|True|False|None)\b)|(?<d>\b\d[\w.]*)/g,
    ir: /(?<c>@\d+:\S+|\/\/.*)|(?<s>"[^"]*")|(?<v>%[\w.$]+)|(?<d>#\w+)|(?<w>(?<== |^\s+)[a-z_]+\b)/g,
    ptx: /(?<c>\/\/.*)|(?<v>%[a-z]+\d+)|(?<d>%[\w.]+)|(?<w>(?<=^\t(?:@!?%p\d+ )?)[a-z][\w.:]*)/g,
    sass: /(?<c>\/\/.*|\/\*.*?\*\/)|(?<v>\b(?:U?R\d+|U?P\d)\b)|(?<w>\b[A-Z][A-Z0-9]{2,}[A-Z0-9_.]*)/g,
};
rules.mir = rules.ptx;
function coloured(kind, text) {
    const code = el("code");
    let at = 0;
    for (const m of text.matchAll(rules[kind])) {
        const [cls] = Object.entries(m.groups).find(([, v]) => v !== undefined);
        code.append(text.slice(at, m.index));
        const part = el("span", {class: cls}, m[0]);
        if (kind === "mir" && cls === "v") {
            part.classList.add("reg");
            part.dataset.reg = m[0];
        }
        code.append(part);
        at = m.index + m[0].length;
    }
    code.append(text.slice(at));
    return code;
}

/* -- the lines of a text -- */

const isInstruction = s => /^\t[^.].*;$/.test(s);
const isSass = s => /^\s*\/\*[0-9a-f]{4,}\*\//.test(s);
const isLayout = s => /^\s+layout #/.test(s);
const bare = s => s.replace(/,#\w+(?=[>,])/g, "").replace(/ @\d+:[\d:+]+/g, "");
const withoutPlace = s => s.replace(/ @\S+/g, "");

function sourceOf(build) {
    return {name: "source", kind: "python", text: build.source, lines: build.source.split("\n").map((_, i) => i + 1)};
}

/* Returns the line at which the kernel's body begins, to which a pane scrolls first. */
function bodyOf(build, stage) {
    const lines = stage.text.split("\n"), from = rule => lines.findIndex(rule);
    if (stage.kind === "python") {
        let at = from(s => new RegExp(`^\\s*def ${build.kernel.replace(/\W/g, "")}\\b`).test(s));
        while (at > 0 && /^\s*@/.test(lines[at - 1])) at--;
        return at;
    }
    if (stage.kind === "ir") return from(s => /^\s+\S/.test(s) && !/^\s+(layout|map|guard)\b/.test(s));
    if (stage.kind === "sass") return from(isSass);
    return from(isInstruction);
}

function displayed(stage, s, details) {
    if (stage.kind === "ir") return details ? s : bare(s);
    return stage.kind === "sass" ? s.replace(/^\s*(\/\*[0-9a-f]+\*\/)\s+(@\S+\s)?\s*/, "$1 $2").replace(/\s+;/, ";")
                                 : s;
}

/* Returns the rows of a stage: {text, number, line, file, position, samples}. Omits lines that contain only a source
 * place. */
function rowsOf(build, stage, details) {
    const rows = [], text = stage.text.replace(/\n$/, "").split("\n");
    let position = 0, instruction = 0;
    const profile = build.profile && build.profile.instructions.length ? build.profile.instructions : null;
    text.forEach((s, i) => {
        if (/^\t\.loc|^\s*\/\/##? File/.test(s) || (stage.kind === "ir" && !details && isLayout(s))) return;
        const row = {
            at: i,
            raw: s,
            text: displayed(stage, s, details),
            line: stage.lines[i] || 0,
            file: stage.files ? stage.files[i] : 0
        };
        if (stage.kind === "mir" && isInstruction(s)) row.position = position++;
        if (stage.kind === "sass" && isSass(s)) row.instruction = profile ? profile[instruction++] : undefined;
        rows.push(row);
    });
    return rows;
}

function lineOf(build, stage, row) {
    const number = row.file ? "·" + row.line : stage.kind === "python" ? row.at + 1 : row.line || "";
    const e = el("div", {class: "l"}, el("span", {class: "n"}, String(number)));
    const meter = (value, most) => {
        const p = el("span", {class: "p"});
        if (value !== undefined)
            p.append(el("i", {style: `width:${48 * value / Math.max(1, most)}px`}), String(value));
        e.append(p);
        return p;
    };
    if (stage.kind === "mir") {
        meter(row.position === undefined ? undefined : build.pressure[row.position], peakOf(build));
        if (row.position !== undefined) e.dataset.position = row.position;
    }
    if (stage.kind === "sass" && build.profile) {
        const x = row.instruction, p = meter(x ? x.samples : undefined, mostSamples(build));
        if (x) p.title = stallText(x);
    }
    if (stage.kind === "python" && build.profile && build.profile.instructions.length) {
        const n = samplesOfLine(build)[row.at + 1];
        meter(n || undefined, Math.max(...Object.values(samplesOfLine(build)), 1)).title = "samples of ncu";
    }
    if (row.file) e.title = (build.files[row.file] || "another file") + ":" + row.line;
    if (row.line && !row.file) {
        e.dataset.line = row.line;
        e.classList.add("linked");
    }
    e.append(coloured(stage.kind, row.text));
    return e;
}
const peaks = new WeakMap();
function peakOf(build) {
    if (!peaks.has(build)) peaks.set(build, build.pressure.reduce((a, b) => Math.max(a, b), 1));
    return peaks.get(build);
}

function words(d) {
    const e = el("span", {}, el("b", {}, d.pass), " " + d.text);
    if (d.better) e.append(el("div", {class: "better"}, `with ${d.needs}: ${d.better}`));
    return e;
}

/* -- panes of one build -- */

let panes = [];
const kept = {}; /* maps a pane's title to the user's choices in the pane */

function fillPane(pane) {
    const stage = pane.stages[pane.at], before = stage.kind === "ir" && pane.at > 0 ? pane.stages[pane.at - 1] : null;
    const body = el("div"), old = before ? new Set(before.text.split("\n").map(withoutPlace)) : null;
    const notes = {};
    if (stage.kind === "python" && pane.notes)
        for (const d of data.decisions)
            if (d.line && !d.file && !d.tidies) (notes[d.line] = notes[d.line] || []).push(d);
    const start = bodyOf(data, stage);
    pane.body = null;
    for (const row of rowsOf(data, stage, pane.details)) {
        const e = lineOf(data, stage, row);
        if (old && !old.has(withoutPlace(row.raw)) && row.raw.trim() !== "}") e.classList.add("new");
        if (row.at >= start && start >= 0 && !pane.body) pane.body = e;
        body.append(e);
        for (const d of notes[row.at + 1] || []) {
            const note = el("div", {class: "note"}, words(d));
            note.dataset.of = row.at + 1;
            body.append(note);
        }
    }
    pane.lines.replaceChildren(body);
    pane.lines.classList.toggle("wrap", pane.wraps);
    pane.detailsBox.hidden = stage.kind !== "ir";
    paint();
}

function checkbox(words, on, change) {
    const box = el("input", {type: "checkbox"});
    box.checked = on;
    box.onchange = () => change(box.checked);
    return el("label", {}, box, " " + words);
}

function addPane(title, stages, chosen, hasNotes) {
    const old = kept[title] || {};
    const pane = {
        title,
        stages,
        lines: el("div", {class: "lines"}),
        notes: hasNotes && old.notes !== false,
        wraps: old.wraps !== false,
        details: !!old.details
    };
    const bar = el("div", {class: "bar"}, el("b", {}, title)), end = el("span", {class: "end"});
    const named = stages.findIndex(s => s.name === old.stage);
    pane.at = named >= 0 ? named : chosen;
    const keep = () => {
        kept[title] = {stage: stages[pane.at].name, notes: pane.notes, wraps: pane.wraps, details: pane.details};
    };
    const refill = () => {
        keep();
        const top = pane.lines.scrollTop;
        fillPane(pane);
        pane.lines.scrollTop = top;
    };
    if (stages.length > 1) {
        const pick = el("select", {"aria-label": "stage"});
        stages.forEach(
            (s, i) => pick.append(el("option", {value: i}, (s.kind === "ir" && i ? "after " : "") + s.name)));
        const show = () => {
            pane.at = +pick.value;
            keep();
            fillPane(pane);
            openBody(pane);
        };
        pick.value = pane.at;
        pick.onchange = show;
        const step = by => () => {
            pick.value = Math.min(stages.length - 1, Math.max(0, +pick.value + by));
            show();
        };
        const back = el("button", {title: "the stage before"}, "‹"), on = el("button", {title: "the next stage"}, "›");
        back.onclick = step(-1);
        on.onclick = step(1);
        bar.append(back, pick, on);
    }
    if (hasNotes)
        end.append(checkbox("decisions", pane.notes, on => {
            pane.notes = on;
            refill();
        }));
    pane.detailsBox = checkbox("layouts, columns", pane.details, on => {
        pane.details = on;
        keep();
        fillPane(pane);
        openBody(pane);
    });
    end.append(pane.detailsBox, checkbox("wrap", pane.wraps, on => {
        pane.wraps = on;
        refill();
    }));
    bar.append(end);
    pane.bar = bar;
    pane.box = el("div", {class: "pane"}, bar, pane.lines);
    $("panes").append(pane.box);
    panes.push(pane);
    fillPane(pane);
}

/* Scrolls to the pinned line, or else to the kernel's body. */
function openBody(pane) {
    if (pane.body) pane.lines.scrollTop = pane.body.offsetTop;
    scrollTo(pane);
}

let hovered = 0, pinned = 0;
function paint() {
    for (const e of document.querySelectorAll("[data-line]")) {
        e.classList.toggle("on", +e.dataset.line === hovered);
        e.classList.toggle("pin", +e.dataset.line === pinned);
    }
}
function scrollTo(pane, skip) {
    const e = pane.lines !== skip && pane.lines.querySelector(`[data-line="${pinned}"]`);
    if (e) pane.lines.scrollTop = e.offsetTop - pane.lines.clientHeight / 3;
}
function pin(line, skip) {
    pinned = pinned === line ? 0 : line;
    history.replaceState(null, "", location.pathname + location.search + (pinned ? "#L" + pinned : ""));
    paint();
    for (const pane of panes) scrollTo(pane, skip);
}
document.addEventListener("mouseover", event => {
    const e = event.target.closest && event.target.closest("[data-line]"), line = e ? +e.dataset.line : 0;
    if (line !== hovered) {
        hovered = line;
        paint();
    }
});
document.addEventListener("click", event => {
    if (event.target.closest("button, input, select, textarea, label, summary")) return;
    const reg = event.target.closest(".reg"), e = event.target.closest("[data-line]");
    if (reg) return showLive(reg.dataset.reg);
    if (e) pin(+e.dataset.line, e.closest(".lines"));
});

/* Marks the instructions during which a register of machine IR is live. */
let shown = "";
function showLive(reg) {
    shown = shown === reg ? "" : reg;
    const found = shown && data.live.find(x => x.register === shown), segments = found ? found.segments : [];
    for (const e of document.querySelectorAll("[data-position]"))
        e.classList.toggle(
            "live", segments.some(([from, to]) => from <= +e.dataset.position && +e.dataset.position <= to));
}

/* -- two builds side by side -- */

/* Returns a line without the numbers of registers, labels, layouts and addresses. Two lines count as equal if
 * their keys are equal. */
function keyOf(kind, s) {
    if (kind === "python") return s;
    if (kind === "sass")
        return s.replace(/\/\*.*?\*\//g, "").replace(/\b(U?[RP])\d+\b/g, "$1").replace(/0x[0-9a-f]+/g, "0x").trim();
    if (kind === "ir") return bare(s).replace(/%([A-Za-z_]+)[\w.]*/g, "%$1").replace(/#([a-z]+)\d+/g, "#$1");
    return s.replace(/%([a-z]+)\d+/g, "%$1").replace(/\$L\d+/g, "$L");
}

/* Returns pairs [i, k] of equal lines, by the longest common subsequence; in the pair of a line without a partner, the
 * other index is -1. */
function align(x, y) {
    let first = 0, xn = x.length, yn = y.length;
    const pairs = [], tail = [];
    while (first < xn && first < yn && x[first] === y[first]) {
        pairs.push([first, first]);
        first++;
    }
    while (xn > first && yn > first && x[xn - 1] === y[yn - 1]) tail.unshift([--xn, --yn]);
    const rows = xn - first, columns = yn - first, wide = columns + 1;
    if (rows * columns > 16e6) { /* the table would be too large, so all lines count as different */
        for (let i = first; i < xn; i++) pairs.push([i, -1]);
        for (let k = first; k < yn; k++) pairs.push([-1, k]);
        return pairs.concat(tail);
    }
    const length = new Uint16Array((rows + 1) * wide);
    for (let i = rows - 1; i >= 0; i--)
        for (let k = columns - 1; k >= 0; k--)
            length[i * wide + k] = x[first + i] === y[first + k]
                                       ? length[(i + 1) * wide + k + 1] + 1
                                       : Math.max(length[(i + 1) * wide + k], length[i * wide + k + 1]);
    for (let i = 0, k = 0; i < rows || k < columns;) {
        if (i < rows && k < columns && x[first + i] === y[first + k])
            pairs.push([first + i++, first + k++]);
        else if (k === columns || (i < rows && length[(i + 1) * wide + k] >= length[i * wide + k + 1]))
            pairs.push([first + i++, -1]);
        else
            pairs.push([-1, first + k++]);
    }
    return pairs.concat(tail);
}

/* Pairs removed lines with added lines, so that the page shows them side by side. */
function facing(pairs) {
    const out = [];
    for (let i = 0; i < pairs.length;) {
        if (pairs[i][0] >= 0 && pairs[i][1] >= 0) {
            out.push(pairs[i++]);
            continue;
        }
        const gone = [], come = [];
        for (; i < pairs.length && (pairs[i][0] < 0 || pairs[i][1] < 0); i++)
            pairs[i][0] >= 0 ? gone.push(pairs[i][0]) : come.push(pairs[i][1]);
        for (let k = 0; k < Math.max(gone.length, come.length); k++)
            out.push([k < gone.length ? gone[k] : -1, k < come.length ? come[k] : -1, true]);
    }
    return out;
}

function showTwo() {
    const builds = [base, data], stages = builds.map(b => [sourceOf(b), ...b.stages]);
    const names =
        stages[1].map(s => s.name).concat(stages[0].map(s => s.name).filter(n => !stages[1].some(s => s.name === n)));
    const old = kept.two || {name: "ptx", details: false};
    const pick = el("select", {"aria-label": "stage"}), count = el("span", {class: "dim"}),
          next = el("button", {}, "next difference");
    names.forEach(n => pick.append(el("option", {value: n}, n)));
    pick.value = names.includes(old.name) ? old.name : "ptx";
    const sides = builds.map((b, i) => ({
        build: b,
        lines: el("div", {class: "lines"}),
        details: old.details,
        bar: el("div", {class: "bar"}, el("b", {}, i ? "this build" : "base"), el("span", {class: "dim"}, titleOf(b)))
    }));
    const fill = () => {
        kept.two = {name: pick.value, details: box.querySelector("input").checked};
        const chosen =
            stages.map(list => list.find(s => s.name === pick.value) ||
                               {name: pick.value, kind: "ir", text: "this build has no such stage", lines: []});
        const rows = chosen.map((s, i) => rowsOf(builds[i], s, kept.two.details)), kind = chosen[1].kind;
        const pairs = facing(align(...rows.map(list => list.map(r => keyOf(kind, r.text))))),
              bodies = sides.map(() => el("div"));
        let differences = 0, inside = false;
        for (const [i, k, differs] of pairs) {
            [i, k].forEach((at, side) => {
                const e =
                    at >= 0 ? lineOf(builds[side], chosen[side], rows[side][at]) : el("div", {class: "l gap"}, " ");
                if (differs && at >= 0) e.classList.add(side ? "come" : "gone");
                if (differs && !inside) e.dataset.first = differences;
                bodies[side].append(e);
            });
            if (differs && !inside) differences++;
            inside = !!differs;
        }
        sides.forEach((s, i) => {
            s.lines.replaceChildren(bodies[i]);
            const first = bodies[i].querySelector("[data-first]");
            s.lines.scrollTop = first ? first.offsetTop - 60 : 0;
        });
        count.textContent = differences === 0   ? "no difference"
                            : differences === 1 ? "1 difference"
                                                : `${differences} differences`;
        at = 0;
        paint();
    };
    let at = 0;
    const box = checkbox("layouts, columns", old.details, fill);
    next.onclick = () => {
        const all = sides[0].lines.querySelectorAll("[data-first]");
        if (all.length) sides[0].lines.scrollTop = all[++at % all.length].offsetTop - 60;
    };
    pick.onchange = fill;
    sides.forEach((s, i) => s.lines.addEventListener("scroll", () => {
        const other = sides[1 - i].lines;
        if (other.scrollTop !== s.lines.scrollTop) other.scrollTop = s.lines.scrollTop;
    }));
    $("panes").append(el("div", {class: "bar"}, pick, count, next, box),
        ...sides.map(s => el("div", {class: "pane"}, s.bar, s.lines)));
    panes = sides;
    fill();
}

function showPanes() {
    const tops = new Map(panes.map(p => [p.title, p.lines.scrollTop]));
    panes = [];
    $("panes").replaceChildren();
    $("panes").classList.toggle("two-builds", !!base);
    if (base) return showTwo();
    const ir = data.stages.filter(s => s.kind === "ir"), low = data.stages.filter(s => s.kind !== "ir");
    addPane("Python", [sourceOf(data)], 0, true);
    addPane("IR", ir, ir.length - 1, false);
    addPane("Machine", low, low.findIndex(s => s.kind === "ptx"), false);
    for (const pane of panes) {
        if (tops.has(pane.title))
            pane.lines.scrollTop = tops.get(pane.title);
        else
            openBody(pane);
    }
}
