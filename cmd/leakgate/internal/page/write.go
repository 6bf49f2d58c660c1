package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/url"
	"strings"
)

// The page's styles. The dark style comes second. Its media attribute says when it applies: the
// system or the reader chooses.
var (
	//go:embed assets/page.css
	style string
	//go:embed assets/dark.css
	darkStyle string
)

// The parts of the script, which share one scope.
var (
	//go:embed assets/text.js
	scriptText string
	//go:embed assets/tree.js
	scriptTree string
	//go:embed assets/icicle.js
	scriptIcicle string
	//go:embed assets/table.js
	scriptTable string
	//go:embed assets/details.js
	scriptDetails string
	//go:embed assets/app.js
	scriptApp string
)

// script is the page's script.
func script() string {
	return "\n(() => {\n'use strict';\n" + strings.Join([]string{scriptText, scriptTree, scriptIcicle, scriptTable, scriptDetails, scriptApp}, "\n") + "})();\n"
}

// Write writes a page. Its data is compressed and in base64, which cannot contain markup. The
// content security policy names the hashes of the one script and the two styles that may be used,
// and permits nothing else: no request, no frame, no form.
func (d *Data) Write(w io.Writer) error {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := json.NewEncoder(z).Encode(d); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	code := script()
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	b.WriteString(`<meta http-equiv="Content-Security-Policy" content="` + policy(code) + "\">\n")
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n")
	b.WriteString("<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n")
	b.WriteString("<title>" + html.EscapeString(d.Title) + "</title>\n<style>" + style + "</style>\n")
	b.WriteString(`<style id="dark" media="screen and (prefers-color-scheme: dark)">` + darkStyle + "</style>\n</head>\n<body>\n")
	b.WriteString("<noscript>" + html.EscapeString(d.plain()) + "</noscript>\n<div id=\"page\"></div>\n")
	b.WriteString(`<script type="application/octet-stream" id="data">` + base64.StdEncoding.EncodeToString(packed.Bytes()) + "</script>\n")
	b.WriteString("<script>" + code + "</script>\n</body>\n</html>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func policy(code string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash(code) + "; style-src " + hash(style) + " " + hash(darkStyle) + "; img-src data:; base-uri 'none'; form-action 'none'"
}

// plain is what a browser without scripts shows.
func (d *Data) plain() string {
	lines := []string{d.Title, "This page needs JavaScript. The messages are in trace.txt beside each result, and on a terminal: leakgate view -text"}
	for _, a := range d.Assertions {
		for _, f := range a.Findings {
			lines = append(lines, a.Package+"."+a.Test+": "+f.Text)
		}
	}
	return strings.Join(lines, "\n")
}

func escapePath(file string) string { return (&url.URL{Path: file}).EscapedPath() }
