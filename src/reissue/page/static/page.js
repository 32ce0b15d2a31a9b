// Sends forms and files with the session's token, and follows long work. Everything else is plain HTML.
(() => {
  "use strict";
  const token = document.querySelector("meta[name=reissue-token]").content;
  const problem = document.getElementById("problem");

  const complain = (text) => {
    problem.textContent = text;
    problem.hidden = false;
    problem.focus();
    problem.scrollIntoView({ block: "nearest" });
  };

  const ask = async (address, body, headers) => {
    problem.hidden = true;
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
    } catch (error) {
      complain(answer ? "The page refused this. Load it again; if that does not help, open it by a new link of `reissue serve`."
        : "The server of this page does not answer. Is `reissue serve` still running?");
    }
    return false;
  };

  // What was filled in outlives the page being loaded again when long work is done.
  const fields = () => [...document.querySelectorAll("form[data-send] :is(input, select)[name]")];
  const keep = () => sessionStorage.setItem(location.pathname, JSON.stringify(
    fields().map((field) => [field.name, field.type === "checkbox" ? field.checked : field.value])));
  for (const [name, value] of JSON.parse(sessionStorage.getItem(location.pathname) || "[]")) {
    const field = fields().find((one) => one.name === name && one.type !== "radio");
    if (field) field[field.type === "checkbox" ? "checked" : "value"] = value;
  }
  sessionStorage.removeItem(location.pathname);

  for (const form of document.querySelectorAll("form[data-send]")) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const given = new FormData(form);
      if (event.submitter && event.submitter.name) given.set(event.submitter.name, event.submitter.value);
      const buttons = [...form.elements].filter((one) => one.type === "submit" && !one.disabled);
      const address = (event.submitter && event.submitter.getAttribute("formaction")) || form.action;
      for (const button of buttons) button.disabled = true;
      const done = await ask(address, JSON.stringify(Object.fromEntries(given)), { "content-type": "application/json" });
      if (!done) for (const button of buttons) button.disabled = false;
    });
  }

  for (const form of document.querySelectorAll("form[data-upload]")) {
    const input = form.querySelector("input[type=file]");
    const begin = async (file) => {
      if (!file) return;
      const bar = form.querySelector("progress");
      bar.hidden = false;
      input.disabled = true;
      const headers = { "x-reissue-file": encodeURIComponent(file.name), "content-type": "application/octet-stream" };
      if (!await ask(form.action, file, headers)) { bar.hidden = true; input.disabled = false; input.value = ""; }
    };
    input.addEventListener("change", () => begin(input.files[0]));
    form.addEventListener("submit", (event) => { event.preventDefault(); begin(input.files[0]); });
    form.addEventListener("dragover", (event) => { event.preventDefault(); form.classList.add("over"); });
    form.addEventListener("dragleave", () => form.classList.remove("over"));
    form.addEventListener("drop", (event) => { event.preventDefault(); form.classList.remove("over"); begin(event.dataTransfer.files[0]); });
  }

  for (const job of document.querySelectorAll("[data-job]")) {
    const bar = job.querySelector("progress");
    const look = async () => {
      try {
        const told = await (await fetch(job.dataset.job)).json();
        if (!told.running || (told.early && !("early" in job.dataset))) { keep(); location.reload(); return; }
        job.querySelector("[data-stage]").textContent = told.stage;
        if (told.share > 0) bar.value = told.share;
      } catch { complain("The server of this page does not answer. Is `reissue serve` still running? Nothing is lost."); return; }
      setTimeout(look, 400);
    };
    setTimeout(look, 250);
  }
})();
