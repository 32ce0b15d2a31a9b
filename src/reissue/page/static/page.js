// Sends forms and files with the session's token, and follows long work. Everything else is plain HTML.
// It listens at the document, before there is anything in it: no form is ever sent without it.
(() => {
  "use strict";
  const mark = (part, place) => {  // every second one is a command, which stands between backticks
    const code = document.createElement("code");
    code.textContent = part;
    return place % 2 ? code : part;
  };

  const complain = (text) => {
    const problem = document.getElementById("problem");
    problem.replaceChildren(...text.split(/`(reissue [^`]+)`/).map(mark));
    problem.hidden = false;
    problem.focus();
    problem.scrollIntoView({ block: "nearest" });
  };

  const ask = async (address, body, headers) => {
    document.getElementById("problem").hidden = true;
    const token = document.querySelector("meta[name=reissue-token]").content;
    let answer;
    try {
      answer = await fetch(address, { method: "POST", body, headers: { ...headers, "x-reissue-token": token } });
      const told = await answer.json();
      if (answer.ok) {
        location.assign(told.to);
        if (told.to.split("#")[0] === location.pathname) location.reload();  // only the place on the page differs
        return true;
      }
      complain(told.error);
    } catch {
      complain(answer ? "The page refused this. Load it again; if that does not help, open it by a new link of `reissue serve`."
        : "The server of this page does not answer. Is `reissue serve` still running?");
    }
    return false;
  };

  const sendForm = async (form, submitter) => {
    const given = new FormData(form);
    if (submitter && submitter.name) given.set(submitter.name, submitter.value);
    const buttons = [...form.elements].filter((one) => one.type === "submit" && !one.disabled);
    const address = (submitter && submitter.getAttribute("formaction")) || form.action;
    for (const button of buttons) button.disabled = true;
    const done = await ask(address, JSON.stringify(Object.fromEntries(given)), { "content-type": "application/json" });
    if (!done) for (const button of buttons) button.disabled = false;
  };

  const sendFile = async (form, file) => {
    const input = form.querySelector("input[type=file]"), bar = form.querySelector("progress");
    if (!file || input.disabled) return;
    bar.hidden = false;
    input.disabled = true;
    const headers = { "x-reissue-file": encodeURIComponent(file.name), "content-type": "application/octet-stream" };
    if (!await ask(form.action, file, headers)) { bar.hidden = true; input.disabled = false; input.value = ""; }
  };

  const findDrop = (event) => event.target.closest && event.target.closest("form[data-upload]");
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-send], [data-upload]")) return;
    event.preventDefault();
    if (form.matches("[data-send]")) sendForm(form, event.submitter);
    else sendFile(form, form.querySelector("input[type=file]").files[0]);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("form[data-upload] input[type=file]")) sendFile(event.target.form, event.target.files[0]);
  });
  for (const name of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      const form = findDrop(event);
      if (!form) return;
      event.preventDefault();
      form.classList.toggle("over", name === "dragover");
      if (name === "drop") sendFile(form, event.dataTransfer.files[0]);
    });
  }

  // What was filled in outlives the page being loaded again when long work is done.
  const fields = () => [...document.querySelectorAll("form[data-send] :is(input, select)[name]")];
  const keep = () => sessionStorage.setItem(location.pathname, JSON.stringify(
    fields().map((field) => [field.name, field.type === "checkbox" ? field.checked : field.value])));
  const restore = () => {
    for (const [name, value] of JSON.parse(sessionStorage.getItem(location.pathname) || "[]")) {
      const field = fields().find((one) => one.name === name && one.type !== "radio");
      if (field) field[field.type === "checkbox" ? "checked" : "value"] = value;
    }
    sessionStorage.removeItem(location.pathname);
  };

  const follow = (job) => {
    const look = async () => {
      try {
        const told = await (await fetch(job.dataset.job)).json();
        if (!told.running || (told.early && !("early" in job.dataset))) { keep(); location.reload(); return; }
        job.querySelector("[data-stage]").textContent = told.stage;
        if (told.share > 0) job.querySelector("progress").value = told.share;
      } catch { complain("The server of this page does not answer. Is `reissue serve` still running? Nothing is lost."); return; }
      setTimeout(look, 400);
    };
    setTimeout(look, 250);
  };

  document.addEventListener("DOMContentLoaded", () => {
    restore();
    document.querySelectorAll("[data-job]").forEach(follow);
  });
})();
