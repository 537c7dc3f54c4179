// SPDX-License-Identifier: MIT
// inspect_views.js: draws the parts of the page below its panes: decisions, instructions, measurements, live registers,
// tiles, launch plan.

function tip(event, text) {
    $("tip").style.display = event ? "block" : "none";
    if (!event) return;
    $("tip").textContent = text;
    $("tip").style.left = Math.min(event.clientX + 14, innerWidth - $("tip").offsetWidth - 8) + "px";
    $("tip").style.top = event.clientY + 16 + "px";
}
const cell = (content, attributes) => el("td", attributes || {}, content);
const heads = (...names) => el("tr", {}, ...names.map(n => el("th", {}, n)));

/* -- cards -- */

function valuesOf(b) {
    const r = b.resources, limits = b.limits;
    return [
        [
            `${r.threads}`, `threads, ${r.warps} warps` +
                                (r.threads > 32 * r.warps ? ` and ${r.threads / 32 - r.warps} that copy` : "")
        ],
        [`${r.live_registers}`, `registers live at most, of ${limits.registers}`],
        [
            r.registers === null ? "–" : `${r.registers}`,
            "registers as assembled" + (r.spill_bytes ? `, ${r.spill_bytes} bytes spilled` : "")
        ],
        [
            r.shared_bytes < 1024 ? `${r.shared_bytes} B`
                                  : `${(r.shared_bytes / 1024).toFixed(r.shared_bytes % 1024 ? 1 : 0)} KiB`,
            `shared memory, of ${limits.shared_bytes / 1024} KiB`
        ],
        [r.barriers === null ? "–" : `${r.barriers}`, "barriers as assembled"],
        [
            `${Math.round(100 * r.occupancy)} %`,
            `occupancy, about: ${r.programs_per_sm} program${r.programs_per_sm === 1 ? "" : "s"} an SM; limit: ${
                r.limited_by}`
        ],
        [`${b.options.num_stages}`, "num_stages asked for"],
    ];
}
function showCards() {
    const was = base ? valuesOf(base) : null;
    $("cards").replaceChildren(...valuesOf(data).map(([value, words], i) => {
        const differs = was && was[i][0] !== value,
              b = el("b", {}, differs ? el("span", {class: "was"}, was[i][0]) : null, differs ? " " : null,
                  el("span", differs ? {class: "changed"} : {}, value));
        return el("div", {class: "card"}, b, el("span", {}, words));
    }));
}

/* -- decisions -- */

const placeOf = (b, d) =>
    d.line ? (d.file ? (b.files[d.file] || "another file") + ":" : "") + d.line + ":" + d.column : "";

/* Returns a row for each decision of both builds. The nth decisions of one pass at one place share a row. */
function pairDecisions() {
    const rows = new Map(), nth = {};
    [base, data].forEach((b, side) => {
        for (const d of b.decisions) {
            const place = [d.pass, d.file, d.line, d.column].join(" "),
                  n = nth[side + place] = (nth[side + place] || 0) + 1;
            const key = place + " " + n, row = rows.get(key) || {};
            row[side] = d;
            rows.set(key, row);
        }
    });
    return [...rows.values()];
}
function rowOfDecision(b, d, ...cells) {
    const row = el("tr", {}, cell(placeOf(b, d)), ...cells);
    if (d.line && !d.file) {
        row.dataset.line = d.line;
        row.classList.add("linked");
    }
    return row;
}
function showDecisions() {
    const all = $("tidies").checked;
    $("only").hidden = !base;
    let rows;
    if (!base)
        rows = data.decisions.filter(d => all || !d.tidies).map(d => rowOfDecision(data, d, cell(words(d))));
    else
        rows = pairDecisions()
                   .filter(({0: x, 1: y}) =>
                               (all || !(y || x).tidies) && (!$("changes").checked || !x || !y || x.text !== y.text))
                   .map(({0: x, 1: y}) => rowOfDecision(y ? data : base, y || x,
                            cell(x ? words(x) : "–", {class: x && y && x.text === y.text ? "" : "dim"}),
                            cell(y ? words(y) : "–")));
    const head = base ? heads("line", "in the base", "in this build") : heads("line", "what was decided, and why");
    $("decisions").replaceChildren(head, ...rows.length ? rows : [el("tr", {}, cell(""),
                                                                     cell(base ? "no decision differs" : "none"))]);
    paint();
}

/* -- instructions -- */

function showInstructions() {
    const kinds = Object.keys(data.instructions),
          kind = kinds.includes($("which").value) ? $("which").value : kinds[0];
    $("which").replaceChildren(...kinds.map(k => el("option", {value: k}, k.toUpperCase())));
    $("which").value = kind;
    const now = data.instructions[kind] || {}, was = base ? base.instructions[kind] || {} : now;
    const names =
        [...new Set([...Object.keys(now), ...Object.keys(was)])].map(name => [name, now[name] || 0, was[name] || 0]);
    names.sort(
        (a, b) => (base ? Math.abs(b[1] - b[2]) - Math.abs(a[1] - a[2]) : 0) || b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    const most = Math.max(1, ...names.map(n => n[1])), table = el("table");
    if (base) table.append(heads("base", "this", "", "instruction"));
    for (const [name, n, before] of names)
        table.append(el("tr", {}, base ? cell(String(before), {class: "dim"}) : null,
            cell(String(n), n !== before ? {class: "changed"} : {}),
            cell(el("div", {class: "meter", style: `width:${Math.max(1, 140 * n / most)}px`})),
            cell(name, {class: "mono"})));
    $("instructions").replaceChildren(table);
}

/* -- measurements of ncu -- */

function stallText(x) {
    const stalls = Object.entries(x.stalls || {}).sort((a, b) => b[1] - a[1]).filter(s => s[1] > 0).slice(0, 6);
    return `${x.samples} samples, ${x.executed} times executed` +
           stalls.map(([name, n]) => `\n${name.replace(/^stall_/, "")}: ${n}`).join("");
}
const mostOf = new WeakMap();
function mostSamples(build) {
    if (!mostOf.has(build)) mostOf.set(build, Math.max(1, ...build.profile.instructions.map(x => x.samples)));
    return mostOf.get(build);
}
/* Returns the samples of each source line: the sum over the SASS instructions that come from the line. */
const ofLine = new WeakMap();
function samplesOfLine(build) {
    if (ofLine.has(build)) return ofLine.get(build);
    const sums = {}, sass = build.stages.find(s => s.kind === "sass");
    let k = 0;
    if (sass)
        sass.text.split("\n").forEach((s, i) => {
            if (!isSass(s)) return;
            const x = build.profile.instructions[k++], line = sass.lines[i], file = sass.files ? sass.files[i] : 0;
            if (x && x.samples && line && !file) sums[line] = (sums[line] || 0) + x.samples;
        });
    ofLine.set(build, sums);
    return sums;
}
function showProfile() {
    $("profile").hidden = !data.profile;
    if (!data.profile) return;
    const {metrics, instructions} = data.profile, parts = [el("h2", {}, "Measured by ncu")], totals = {};
    for (const x of instructions)
        for (const [name, n] of Object.entries(x.stalls)) totals[name] = (totals[name] || 0) + n;
    const stalls = Object.entries(totals).filter(s => s[1] > 0).sort((a, b) => b[1] - a[1]),
          sum = stalls.reduce((a, s) => a + s[1], 0);
    const box = el("div", {class: "plan"});
    if (stalls.length)
        box.append(el("div", {}, el("h3", {}, `Why warps wait: ${sum} samples`),
            el("table", {},
                ...stalls.map(
                    ([name, n]) => el("tr", {}, cell(`${(100 * n / sum).toFixed(1)} %`),
                        cell(el("div", {class: "meter", style: `width:${Math.max(1, 160 * n / stalls[0][1])}px`})),
                        cell(name.replace(/^stall_/, "")))))));
    const lines =
              Object.entries(instructions.length ? samplesOfLine(data) : {}).sort((a, b) => b[1] - a[1]).slice(0, 12),
          text = data.source.split("\n");
    if (lines.length)
        box.append(el("div", {}, el("h3", {}, "Lines with most samples"), el("table", {}, ...lines.map(([line, n]) => {
            const row =
                el("tr", {class: "linked"}, cell(line), cell(String(n)), cell(text[line - 1].trim(), {class: "mono"}));
            row.dataset.line = line;
            return row;
        }))));
    if (metrics.length)
        box.append(el("div", {}, el("h3", {}, "Metrics"),
            el("div", {class: "scroll"},
                el("table", {},
                    ...metrics.map(m => el("tr", {}, cell(m.name), cell(m.value), cell(m.unit, {class: "dim"})))))));
    const sass = data.stages.find(s => s.kind === "sass"),
          opcode = s => s.replace(/\/\*.*?\*\//g, "").trim().replace(/^@\S+\s+/, "").split(/[\s;]/)[0];
    const mine = sass ? sass.text.split("\n").filter(isSass).map(opcode) : [],
          differs = instructions.findIndex((x, i) => mine[i] !== opcode(x.text));
    if (instructions.length && !sass)
        parts.push(el("div", {class: "better"},
            "no disassembler was found (nvdisasm or cuobjdump), so samples have no lines here"));
    else if (differs >= 0 && mine.length)
        parts.push(el("div", {class: "better"},
            `ncu measured another build: its instruction ${differs} is ${
                opcode(instructions[differs].text)}, and here ${
                mine[differs] || "the kernel has ended"}. Do not trust the lines of its samples.`));
    $("profile").replaceChildren(...parts, box);
}

/* -- the schedule of loops -- */

/* One colour for each op, and grey for waits. */
function colourOf(span, all) {
    if (span.unit === "waiting") return "var(--line)";
    return `hsl(${(all.indexOf(span.what.replace(/ and \d+ more$/, "")) * 67 + 205) % 360} 55% 58%)`;
}
function drawSchedule(loop) {
    const rows = [], left = 190, width = 760, row = 18,
          all = [...new Set(loop.spans.map(s => s.what.replace(/ and \d+ more$/, "")))];
    const units = ["global memory", "shared memory", "tensor cores", "special functions", "issue slots", "waiting"];
    for (const unit of units)
        for (const role of [...new Set(loop.spans.filter(s => s.unit === unit).map(s => s.role))].sort())
            rows.push({unit, role, spans: loop.spans.filter(s => s.unit === unit && s.role === role)});
    const x = c => left + width * c / Math.max(1, loop.cycles);
    const svg = el("svg", {width: left + width + 30, height: 24 + row * rows.length});
    for (let i = 0; i <= 4; i++) {
        const c = Math.round(loop.cycles * i / 4);
        svg.append(el("line", {x1: x(c), x2: x(c), y1: 14, y2: 20 + row * rows.length, stroke: "var(--line)"}),
            el("text", {x: x(c), y: 10, "text-anchor": "middle"}, String(c)));
    }
    rows.forEach((r, i) => {
        const y = 18 + row * i;
        svg.append(el("text", {x: left - 6, y: y + 12, "text-anchor": "end"}, `${r.unit}, ${r.role}`));
        for (const s of r.spans) {
            const box = el("rect", {
                x: x(s.from),
                y: y + 2,
                width: Math.max(1, x(s.to) - x(s.from)),
                height: row - 4,
                fill: colourOf(s, all)
            });
            box.onmousemove = event => {
                tip(event, `${s.what}, line ${s.line || "–"}: cycles ${s.from} to ${s.to}`);
                hovered = s.file ? 0 : s.line;
                paint();
            };
            box.onmouseleave = () => tip();
            box.onclick = () => s.line && !s.file && pin(s.line);
            svg.append(box);
        }
    });
    return svg;
}
function showSchedules() {
    const loops = data.schedules || [];
    $("schedule").hidden = !loops.length;
    $("schedules").replaceChildren(...loops.flatMap(loop => [
        el("div", {}, `loop at ${placeOf(data, loop)}: ${loop.text}`),
        ...loop.buffers.map(b => el("div", {class: "dim mono"}, b)),
        loop.cycles ? el("div", {class: "scroll"}, drawSchedule(loop)) : null
    ].filter(x => x)));
}

/* -- registers -- */

const UNNAMED = "addresses, temporaries"; /* the group of registers that hold no value of the last IR */
/* Groups the live ranges of registers by the value of the IR that they hold. */
function groupsOf(b) {
    const all = new Map();
    for (const x of b.live) {
        if (!x.words) continue;
        const name = x.value || UNNAMED,
              g = all.get(name) || {name, at: new Int32Array(b.pressure.length + 2), area: 0};
        for (const [from, to] of x.segments) {
            g.at[from + 1] += x.words;
            g.at[to + 1] -= x.words;
            g.area += x.words * (to - from);
        }
        all.set(name, g);
    }
    for (const g of all.values())
        for (let i = 1; i < g.at.length; i++) g.at[i] += g.at[i - 1];
    return [...all.values()].sort((a, b) => b.area - a.area || (a.name < b.name ? -1 : 1)).slice(0, 24);
}
function curveOf(b, x, y, n) {
    let path = "";
    b.pressure.forEach((v, i) => {
        path += `L${x(i, n).toFixed(1)},${y(v).toFixed(1)}L${x(i + 1, n).toFixed(1)},${y(v).toFixed(1)}`;
    });
    return `M${x(0, n)},${y(0)}` + path + `L${x(n, n)},${y(0)}Z`;
}
function linesOfMir(b) {
    const mir = b.stages.find(s => s.kind === "mir"), out = [];
    mir.text.split("\n").forEach((s, i) => {
        if (isInstruction(s)) out.push(mir.files && mir.files[i] ? 0 : mir.lines[i]);
    });
    return out;
}
function showPressure() {
    const n = data.pressure.length, left = 170, width = Math.max(420, Math.min(1100, $("pressure").clientWidth - 190)),
          height = 130, row = 16;
    const list = groupsOf(data), peak = Math.max(peakOf(data), base ? peakOf(base) : 0), lineAt = linesOfMir(data);
    const x = (i, of) => left + width * i / Math.max(1, of), y = v => 14 + height - height * v / peak;
    const svg = el("svg", {width: left + width + 10, height: height + 34 + row * list.length, id: "curve"});
    svg.append(
        el("path", {d: curveOf(data, x, y, n), fill: "var(--accent)", "fill-opacity": .25, stroke: "var(--accent)"}));
    if (base)
        svg.append(el("path", {
            d: curveOf(base, x, y, base.pressure.length),
            fill: "none",
            stroke: "var(--dim)",
            "stroke-dasharray": "4 3"
        }));
    for (const v of [0, Math.round(peak / 2), peak])
        svg.append(el("line", {x1: left, x2: left + width, y1: y(v), y2: y(v), stroke: "var(--line)"}),
            el("text", {x: left - 6, y: y(v) + 3, "text-anchor": "end"}, String(v)));
    list.forEach((g, k) => {
        const top = height + 24 + row * k, most = g.at.reduce((a, b) => Math.max(a, b), 0);
        svg.append(el("text", {x: left - 6, y: top + 11, "text-anchor": "end"},
            `${g.name.length > 22 ? g.name.slice(0, 21) + "…" : g.name} ${most}`));
        for (let i = 0, j; i < n; i = j) {
            for (j = i; j < n && g.at[j] === g.at[i]; j++)
                ;
            if (g.at[i])
                svg.append(el("rect", {
                    x: x(i, n),
                    y: top + 2,
                    width: Math.max(1, x(j, n) - x(i, n)),
                    height: row - 4,
                    fill: "var(--accent)",
                    "fill-opacity": .15 + .75 * g.at[i] / most
                }));
        }
    });
    const mark = el("line", {y1: 8, y2: height + 24 + row * list.length, stroke: "var(--warn)", visibility: "hidden"});
    svg.append(mark);
    const place = event => Math.min(
        n - 1, Math.max(0, Math.floor((event.clientX - svg.getBoundingClientRect().left - left) / width * n)));
    svg.onmousemove = event => {
        const i = place(event);
        mark.setAttribute("x1", x(i, n));
        mark.setAttribute("x2", x(i, n));
        mark.setAttribute("visibility", "visible");
        tip(event, `instruction ${i}, line ${lineAt[i] || "–"}: ${data.pressure[i]} registers`);
        hovered = lineAt[i];
        paint();
    };
    svg.onmouseleave = () => {
        mark.setAttribute("visibility", "hidden");
        tip();
    };
    svg.onclick = event => {
        pinned = 0;
        pin(lineAt[place(event)]);
    };
    const words =
        "across: instructions of the machine IR; up: registers live in front of each. Below: the values that hold them, with the most that each holds." +
        (base ? " Dashed: the base." : "");
    $("pressure").replaceChildren(el("div", {class: "legend"}, words), svg);
}

/* -- layouts: coordinate = flip ^ XOR of the vectors of the input bits that are set -- */

function tilesOf(stage) {
    const layouts = {}, tiles = new Map();
    for (const s of stage.text.split("\n")) {
        const l = s.match(/^\s*layout (#\w+) = (.*)$/), v = s.match(/^\s*(%[\w.]+)/);
        if (l) layouts[l[1]] = l[2];
        for (const m of s.matchAll(/(tile|shared)<([0-9x]+)x([a-z][\w<>*]*?),(#\w+)[^>]*>/g)) {
            const key = m[1] + m[2] + m[4], bits = +(m[3].match(/\d+/) || [8])[0], pointer = m[3].startsWith("ptr");
            const t = tiles.get(key) || {
                kind: m[1],
                shape: m[2].split("x").map(Number),
                name: m[4],
                bytes: pointer ? 8 : bits / 8,
                types: new Set(),
                values: new Set()
            };
            t.types.add(m[3]);
            if (v) t.values.add(v[1]);
            tiles.set(key, t);
        }
    }
    for (const t of tiles.values()) t.text = layouts[t.name] || "";
    return [...tiles.values()].filter(t => t.shape.reduce((a, b) => a * b) > 1);
}
/* Returns, for each element, the first place that holds the element: [register, lane, warp] or [offset]. */
function owners(t) {
    const strides = t.shape.map((_, i) => t.shape.slice(i + 1).reduce((a, b) => a * b, 1)),
          total = t.shape.reduce((a, b) => a * b);
    const vectors = {};
    for (const m of t.text.matchAll(/(\w+)\[([^\]]*)\]/g))
        vectors[m[1]] = [...m[2].matchAll(/\(([^)]*)\)|(\d+)/g)].map(
            v => v[2] !== undefined ? +v[2] : v[1].split(",").reduce((a, c, i) => a + c * strides[i], 0));
    const kinds = ["reg", "lane", "warp", "cta", "offset"].filter(k => vectors[k]),
          basis = kinds.flatMap(k => vectors[k]);
    const flip = vectors.flip ? vectors.flip[0] || 0 : 0, place = new Int32Array(total).fill(-1);
    let copies = 0;
    for (let x = 0; x < 1 << Math.min(basis.length, 24); x++) {
        let c = flip;
        for (let b = 0; b < basis.length; b++)
            if (x >> b & 1) c ^= basis[b];
        if (c < total && place[c] < 0)
            place[c] = x;
        else
            copies++;
    }
    const count = k => (vectors[k] || []).length;
    return {
        place,
        copies,
        total,
        reg: count("reg"),
        lane: count("lane"),
        warp: count("warp"),
        shared: kinds.includes("offset"),
        parts(x) {
            return {
                reg: x & (1 << this.reg) - 1,
                lane: x >> this.reg & (1 << this.lane) - 1,
                warp: x >> this.reg + this.lane & (1 << this.warp) - 1
            };
        }
    };
}
const hueOf = (n, bits) => n * 360 / Math.max(1, 1 << bits);
function colour(o, x, bytes, by) {
    if (x < 0) return "var(--soft)";
    if (o.shared) return `hsl(${Math.floor(x * bytes / 4) % 32 * 360 / 32} 65% 58%)`;
    const p = o.parts(x);
    if (by === "register") return `hsl(${hueOf(p.reg, o.reg)} 65% 58%)`;
    if (by === "lane") return `hsl(${hueOf(p.lane, o.lane)} 65% 58%)`;
    return `hsl(${hueOf(p.warp, o.warp)} 60% ${by === "warp" ? 58 : lightOf(o, p)}%)`;
}
const lightOf = (o, p) => 34 + 46 * p.lane / Math.max(1, 1 << o.lane);
const inkOf = (o, p, by) => !o.shared && by === "thread" && lightOf(o, p) < 43 ? "#fff" : "#000";
/* Returns the legend of a picture: the meaning of its colours and numbers. */
function legendOf(o, by) {
    const swatches = (word, n, hue) =>
        Array.from({length: n}, (_, i) => el("span", {}, el("i", {style: `background:hsl(${hue(i)} 62% 58%)`}),
                                    i === 0 ? `${word} 0` : String(i)));
    const few = (word, bits) => {
        const n = 1 << bits, step = Math.max(1, n / 8);
        return Array.from({length: Math.min(n, 8)},
            (_, i) => el("span", {}, el("i", {style: `background:hsl(${hueOf(i * step, bits)} 62% 58%)`}),
                i === 0 ? `${word} 0` : String(i * step)));
    };
    const say = words => el("span", {}, words), lanes = say("number: lane.register");
    const parts = o.shared
                      ? [say("colour: bank of shared memory"), ...few("bank", 5), say("number: offset in elements")]
                  : by === "register" ? [say("colour: register of the thread"), ...few("register", o.reg), lanes]
                  : by === "lane"     ? [say("colour: lane of the warp"), ...few("lane", o.lane), lanes]
                                      : [
                                        say("colour: warp"), ...swatches("warp", 1 << o.warp, i => hueOf(i, o.warp)),
                                        by === "thread" ? say("dark to light: lane 0 to 31") : null, lanes
                                    ];
    return el("div", {class: "legend"}, ...parts);
}
function label(o, x, bytes) {
    if (x < 0) return "nobody";
    if (o.shared) return `offset ${x}, bank ${Math.floor(x * bytes / 4) % 32}`;
    const p = o.parts(x);
    return `warp ${p.warp}, lane ${p.lane}, register ${p.reg}`;
}
const roomy = n => Math.min(n, 64);
/* Draws a grid of cells: at(row, column) is the element of a cell; with `index`, each row is labelled by its first
 * element. */
function gridOf(t, {title, rows, columns, tall, wide, at, numbers, index}) {
    const o = t.owners, by = $("by").value, gap = tall > 9 ? 1 : 0, left = index ? 40 : 0;
    const svg =
        el("svg", {width: left + columns * wide + 2, height: rows * tall + 2, role: "img", "aria-label": title});
    for (let i = 0; i < rows; i++) {
        if (index)
            svg.append(el("text", {x: left - 5, y: i * tall + tall - 4, "text-anchor": "end"}, String(at(i, 0))));
        for (let j = 0; j < columns; j++) {
            const c = at(i, j), x = o.place[c];
            svg.append(el("rect", {
                x: 1 + left + j * wide,
                y: 1 + i * tall,
                width: wide - gap,
                height: tall - gap,
                fill: colour(o, x, t.bytes, by),
                "data-c": c
            }));
            if (numbers && x >= 0) {
                const p = o.parts(x);
                svg.append(el("text", {
                    x: 1 + left + j * wide + wide / 2,
                    y: i * tall + tall - 4,
                    "text-anchor": "middle",
                    style: `fill:${inkOf(o, p, by)};font-size:8px;pointer-events:none`
                },
                    o.shared ? String(x) : `${p.lane}.${p.reg}`));
            }
        }
    }
    svg.onmousemove = event => {
        const c = event.target.dataset.c;
        if (c === undefined) return tip();
        const at = t.shape.map((n, d) => Math.floor(c / t.shape.slice(d + 1).reduce((a, b) => a * b, 1)) % n);
        tip(event, `[${at.join(", ")}]: ${label(o, o.place[c], t.bytes)}`);
    };
    svg.onmouseleave = () => tip();
    return svg;
}
/* Draws a tile of one dimension as rows of cells, in order. */
function drawRow(t) {
    const o = t.owners, most = 2048, n = Math.min(o.total, most), columns = Math.min(n, innerWidth < 960 ? 16 : 32);
    const grid = gridOf(t, {
        title: "the elements in order",
        rows: n / columns,
        columns,
        tall: 15,
        wide: 26,
        at: (i, j) => i * columns + j,
        numbers: true,
        index: true
    });
    const words = `elements in order, ${columns} a row` + (n < o.total ? `; the first ${n} of ${o.total}` : "");
    return [el("div", {class: "dim"}, words), el("div", {class: "scroll", style: "max-height:262px"}, grid)];
}
function drawTile(t) {
    const o = t.owners, legend = legendOf(o, $("by").value);
    if (t.shape.filter(n => n > 1).length < 2) return [legend, ...drawRow(t)];
    const columns = t.shape[t.shape.length - 1], rows = o.total / columns;
    const fine = {rows: Math.min(rows, 16), columns: Math.min(columns, 16)};
    const stepR = Math.max(1, rows / roomy(rows)), stepC = Math.max(1, columns / roomy(columns)),
          size = Math.max(rows / stepR, columns / stepC) > 32 ? 6 : 10;
    const whole = gridOf(t, {
        title: "the whole tile",
        rows: rows / stepR,
        columns: columns / stepC,
        tall: size,
        wide: size,
        at: (i, j) => i * stepR * columns + j * stepC
    });
    whole.onclick = event => {
        const c = event.target.dataset.c;
        if (c === undefined) return;
        t.row = Math.min(rows - fine.rows, Math.floor(c / columns / fine.rows) * fine.rows);
        t.column = Math.min(columns - fine.columns, Math.floor(c % columns / fine.columns) * fine.columns);
        t.view.replaceChildren(...drawTile(t));
    };
    const r0 = t.row || 0, c0 = t.column || 0;
    const detail = gridOf(t, {
        title: "a part of it",
        rows: fine.rows,
        columns: fine.columns,
        tall: 15,
        wide: 26,
        at: (i, j) => (r0 + i) * columns + c0 + j,
        numbers: true
    });
    const step = stepR > 1 || stepC > 1 ? `, every ${stepR} x ${stepC}` : "";
    return [
        legend, el("div", {class: "dim"}, `the whole tile${step}; click for a part`),
        el("div", {class: "scroll"}, whole),
        el("div", {class: "dim"}, `rows ${r0}–${r0 + fine.rows - 1}, columns ${c0}–${c0 + fine.columns - 1}`),
        el("div", {class: "scroll"}, detail)
    ];
}
let tiles = [];
function showTiles() {
    $("tiles").replaceChildren(...tiles.map((t, i) => {
        t.owners = t.owners || owners(t);
        t.view = el("div");
        const values = [...t.values],
              box = el("details", {class: "tile"},
                  el("summary", {}, el("b", {}, `${t.kind} ${t.shape.join(" x ")} `),
                      el("span", {class: "dim"}, [...t.types].join(", ") + (t.owners.copies ? ", in copies" : ""))),
                  el("div", {class: "mono"},
                      values.slice(0, 8).join(" ") + (values.length > 8 ? ` and ${values.length - 8} more` : "")),
                  el("details", {}, el("summary", {class: "dim"}, "layout"),
                      el("div", {class: "mono dim"}, `${t.name} = ${t.text}`)),
                  t.view);
        const draw = () => {
            if (box.open) t.view.replaceChildren(...drawTile(t));
        };
        box.ontoggle = draw;
        box.open = i < 4;
        draw();
        return box;
    }));
}
function findTiles() {
    const ir = data.stages.filter(s => s.kind === "ir");
    tiles = tilesOf(ir[ir.length - 1]);
    showTiles();
}

/* -- the launch plan -- */

const plain = x => Array.isArray(x) ? x.map(plain).join(", ")
                   : x !== null && typeof x === "object"
                       ? Object.entries(x).map(([k, v]) => `${k}: ${plain(v)}`).join("; ")
                       : String(x);
/* Converts an expression of a plan from postfix notation: "stride_am 2 *" becomes stride_am * 2. */
function infix(text) {
    const stack = [], level = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2};
    for (const w of text.split(" ")) {
        const op = w === "rem" ? "%" : w === "div" ? "/" : w;
        if (!level[op]) {
            stack.push({text: w, level: 3});
            continue;
        }
        const y = stack.pop(), x = stack.pop();
        if (!x || !y) return text;
        const left = x.level < level[op] ? `(${x.text})` : x.text,
              right = y.level <= level[op] ? `(${y.text})` : y.text;
        stack.push({text: `${left} ${op} ${right}`, level: level[op]});
    }
    return stack.length === 1 ? stack[0].text : text;
}
function tableOf(title, head, rows) {
    return el("div", {}, el("h3", {}, title),
        el("table", {}, heads(...head),
            ...rows.map(r => el("tr", {}, ...r.map(c => cell(c === undefined ? "" : c))))));
}
function showPlan() {
    const {params = [], variants = [], constants = {}, kernel, target, ...rest} = data.plan, parts = [];
    parts.push(tableOf("Parameters", ["name", "type", "bytes at", "promised"],
        params.map(p => [p.name, p.type, p.offset === undefined ? "–" : `${p.offset}–${p.offset + p.bytes - 1}`,
                       p.equals !== undefined ? `is ${p.equals}`
                       : p.divisible > 1 ? `divisible by ${p.divisible}`
                                         : ""])));
    if (Object.keys(constants).length) parts.push(tableOf("Constants", ["name", "value"], Object.entries(constants)));
    if (Object.keys(rest).length)
        parts.push(
            tableOf("Kernel", ["", ""], Object.entries(rest).map(([k, v]) => [k.replace(/_/g, " "), plain(v)])));
    variants.forEach((v, i) => {
        const {maps = [], guards = [], ...facts} = v,
                                       rows = Object.entries(facts).map(([k, x]) => [k.replace(/_/g, " "), plain(x)]);
        for (const g of guards) rows.unshift(["taken only if this is 0 or more", infix(g)]);
        parts.push(tableOf(i ? `Variant ${i + 1}, where those before do not fit` : "Variant 1", ["", ""], rows));
        if (maps.length)
            parts.push(tableOf(`Tensor maps of variant ${i + 1}`,
                ["of", "type", "extents", "strides in bytes", "box", "swizzle", "outside"],
                maps.map(m => [m.base.map(infix).join(", "), m.type, m.extents.map(infix).join(" x "),
                             m.strides.map(infix).join(", "), m.box.join(" x "), plain(m.swizzle), m.fill])));
    });
    $("plan").replaceChildren(...parts);
}
