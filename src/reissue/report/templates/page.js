(() => {
  "use strict";
  const data = document.getElementById("charts");
  if (!data || !window.reissueEmbed) return;
  // Styles are the page's own: what Vega would add is more than a strict policy allows.
  const options = { actions: false, renderer: "svg", ast: true, loader: { target: "_self" }, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  const svg = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  // One button for each line: a legend that the keyboard reaches, and that says what is pressed.
  const legend = (view, entries) => {
    const group = document.createElement("div");
    group.className = "legend";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Bring out one, or press again to show all");
    const show = () => { for (const one of group.children) one.setAttribute("aria-pressed", String(view.signal("picked") === one.textContent)); };
    for (const { name, colour, dash } of entries) {
      const button = document.createElement("button"), swatch = svg("svg", { width: 26, height: 10, "aria-hidden": "true" });
      button.type = "button";
      const line = svg("line", { x1: 1, x2: 25, y1: 5, y2: 5, "stroke-width": 3, "stroke-dasharray": dash.length ? dash.join(" ") : "none" });
      line.style.stroke = colour;
      swatch.append(line);
      button.append(swatch, name);
      button.addEventListener("click", () => { view.signal("picked", view.signal("picked") === name ? "" : name).run(); show(); });
      group.append(button);
    }
    show();
    return group;
  };
  const drawn = Object.entries(JSON.parse(data.textContent)).map(([id, spec]) => {
    const place = document.getElementById("chart-" + id);
    spec.config.legend.columns = Math.max(1, Math.floor(place.clientWidth / 200));
    return window.reissueEmbed("#chart-" + id, spec, options).then((made) => {
      if (spec.usermeta && spec.usermeta.legend) place.after(legend(made.view, spec.usermeta.legend));
    }).catch((error) => {
      place.textContent = "This chart could not be drawn; its numbers are in the table below. " + error.message;
    });
  });
  Promise.all(drawn).then(() => { document.documentElement.dataset.drawn = "yes"; });
  // Vega announces charts as graphics documents with every mark; the page's own label and table say it better.
  const open = () => { if (location.hash.length > 1) { const d = document.getElementById(location.hash.slice(1)); for (let e = d; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true; } };
  window.addEventListener("hashchange", open);
  open();
})();
