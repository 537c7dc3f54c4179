// SPDX-License-Identifier: MIT
// inspect.js: manages the page's state: one build, or two builds of which the first is the base. Under
// `neso inspect --serve`, the page also has a form that requests other builds from the server. The page's data is
// {"builds": [BUILD] or [BASE, BUILD], "serve": {...}}.

const $ = id => document.getElementById(id);
function el(tag, attributes, ...children) {
    const svg = ["svg", "rect", "path", "g", "text", "line", "title"].includes(tag);
    const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
    e.append(...children.filter(c => c !== null && c !== undefined));
    return e;
}
const given = JSON.parse($("data").textContent);
let data = given.builds.length ? given.builds[given.builds.length - 1] : null;
let base = given.builds.length > 1 ? given.builds[0] : null;

const titleOf = b => `${b.file} · ${b.target} · ${b.signature || "as written"} · ${b.options.num_warps} warps, ${
                         b.options.num_stages} stages` +
                     (b.options.maxnreg ? `, at most ${b.options.maxnreg} registers` : "");

function show() {
    if (!data) return;
    document.title = data.kernel + " · neso inspect";
    document.querySelector("h1").textContent = data.kernel;
    $("what").textContent = base ? "two builds" : titleOf(data);
    showCards();
    showPanes();
    showDecisions();
    showInstructions();
    showProfile();
    showSchedules();
    showPressure();
    findTiles();
    showPlan();
    paint();
}

$("theme").onclick = () => {
    const dark = getComputedStyle(document.documentElement).getPropertyValue("--back").trim() === "#14171b";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
};
$("tidies").onchange = $("changes").onchange = showDecisions;
$("which").onchange = showInstructions;
$("by").onchange = showTiles;
let resized = 0;
addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => {
        if (data) {
            showPressure();
            showTiles();
        }
    }, 200);
});

/* -- live: the form, the editor, and the server's answers -- */

const fields = {}; /* maps the names in the page's address to the form's fields */
let edited = null; /* the source as edited in the page; null: the file's source */
let asked = 0;

function problem(text) {
    $("problem").textContent = text || "";
    $("problem").hidden = !text;
}
function query() {
    const q = new URLSearchParams();
    for (const [name, field] of Object.entries(fields))
        if (field.value) q.set(name, field.value);
    return q.toString();
}
/* Selects, in the list of launches, the launch whose values the fields have; if there is none, selects "as typed". */
let launches = null;
function showLaunch() {
    if (!launches) return;
    const names = ["kernel", "signature", "num_warps", "num_stages"];
    const at = given.serve.launches.findIndex(l => names.every(name => !fields[name].value || fields[name].value === l[name]));
    launches.value = at < 0 ? "" : String(at);
}
/* Requests a build without the slow parts, and shows it. Then calls itself with `complete`, to request the
   build with the slow parts: the promises that would improve decisions, and, if ptxas is installed, its output. */
async function rebuild(complete) {
    const number = ++asked, began = performance.now();
    const post = edited === null ? {} : {method: "POST", headers: {"Content-Type": "text/x-python"}, body: edited};
    let answer;
    try {
        answer = await (await fetch(`build.json?${query()}${complete ? "&complete=1" : ""}`, post)).json();
    } catch (error) { return problem("the server does not answer: neso inspect --serve has ended"); }
    if (number !== asked) return;
    problem(answer.messages);
    if (!answer.build) return;
    data = answer.build;
    if (!fields.signature.value && data.signature) fields.signature.value = data.signature;
    showLaunch();
    history.replaceState(null, "", "?" + query() + location.hash);
    show();
    if (editor) mountEditor();
    if (!complete)
        $("took").textContent =
            `compiled in ${answer.ms.toFixed(1)} ms, shown after ${(performance.now() - began).toFixed(0)} ms`;
    if (!complete) rebuild(true);
}

/* Puts an editor in place of the Python pane's text. */
let editor = null;
function mountEditor() {
    const pane = panes.find(p => p.title === "Python");
    if (!pane) return;
    pane.lines.hidden = true;
    pane.box.append(editor);
}
function edit(button) {
    if (editor) {
        editor.remove();
        editor = edited = null;
        button.textContent = "edit the source";
        return rebuild();
    }
    editor = el("textarea", {spellcheck: "false", "aria-label": "source"});
    editor.value = data ? data.source : given.serve.source;
    let timer = 0;
    editor.oninput = () => {
        edited = editor.value;
        clearTimeout(timer);
        timer = setTimeout(rebuild, 150);
    };
    editor.onkeydown = event => {
        if (event.key !== "Tab") return;
        event.preventDefault();
        editor.setRangeText("    ", editor.selectionStart, editor.selectionEnd, "end");
        editor.oninput();
    };
    button.textContent = "back to the file";
    mountEditor();
    editor.focus({preventScroll: true});
    if (data) editor.scrollTop = 17 * Math.max(0, bodyOf(data, sourceOf(data)));
}

async function savePage() {
    const page = await (await fetch("template.html")).text(), builds = base ? [base, data] : [data];
    const text = page.replace("@DATA@", () => JSON.stringify({builds}).replace(/</g, "\\u003c"));
    const a =
        el("a", {href: URL.createObjectURL(new Blob([text], {type: "text/html"})), download: `${data.kernel}.html`});
    a.click();
}

function button(words, act) {
    const b = el("button", {type: "button"}, words);
    b.onclick = () => act(b);
    return b;
}
function field(name, words, e) {
    fields[name] = e;
    e.value = given.serve.options[name] || "";
    e.onchange = () => rebuild();
    $("live").append(el("label", {}, words + " ", e));
}
function choice(values, none) {
    return el("select", {}, el("option", {value: ""}, none), ...values.map(v => el("option", {value: v}, v)));
}
function startLive() {
    const s = given.serve;
    $("live").hidden = false;
    $("live").onsubmit = event => event.preventDefault();
    field("kernel", "kernel", el("input", {size: 14}));
    if (s.launches.length > 1) {
        const pick = choice(s.launches.map((_, i) => String(i)), "as typed");
        [...pick.options].slice(1).forEach(
            (o, i) => { o.textContent = `${s.launches[i].kernel}: ${s.launches[i].signature}`.slice(0, 70); });
        pick.onchange = () => {
            const l = s.launches[pick.value];
            if (!l) return;
            for (const name of ["kernel", "signature", "num_warps", "num_stages"]) fields[name].value = l[name];
            rebuild();
        };
        launches = pick;
        $("live").append(el("label", {}, "as launched ", pick));
    }
    field("signature", "signature", el("input", {size: 44}));
    field("target", "target", choice(s.targets, "sm_90a"));
    field("num_warps", "warps", choice(["1", "2", "4", "8", "16", "32"], "default"));
    field("num_stages", "stages", choice(["1", "2", "3", "4", "5", "6", "7"], "default"));
    field("maxnreg", "registers at most", el("input", {size: 4}));
    field("skip", "skip passes", el("input", {size: 12}));
    field("param", "thresholds", el("input", {size: 16, placeholder: "NAME=VALUE,..."}));
    const keep = button("keep as base", () => {
        base = base ? null : data;
        keep.textContent = base ? "drop the base" : "keep as base";
        show();
        if (editor && !base) mountEditor();
    });
    if (base) keep.textContent = "drop the base";
    $("live").append(button("edit the source", edit), keep, button("save the page", savePage),
        el("span", {id: "took", class: "dim"}));
    problem(s.messages);
    if (data && !fields.signature.value) fields.signature.value = data.signature;
    if (data && !fields.kernel.value) fields.kernel.value = data.kernel;
    showLaunch();
    const events = new EventSource("events");
    events.onmessage = () => {
        if (edited === null) rebuild();
    };
    if (data) rebuild(true);
}

if (given.serve) startLive();
show();
if (/^#L\d+$/.test(location.hash)) pin(+location.hash.slice(2));
