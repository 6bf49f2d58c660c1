package refscanhttp

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"

	"github.com/leakgate/leakgate/internal/debughttp"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// write answers a query. The answer is whole before any of it is sent.
func (q *query) write(w http.ResponseWriter, scan, base, older *scanreport.Scan) error {
	var b bytes.Buffer
	kind := "text/plain; charset=utf-8"
	var err error
	switch q.format {
	case formatJSON:
		kind, err = "application/json", scan.Encode(&b)
	case formatProfile:
		w.Header().Set("Content-Disposition", `attachment; filename="retained.pb.gz"`)
		kind, err = "application/octet-stream", scan.Report.WriteProfile(&b)
	case formatPage:
		kind, err = "text/html; charset=utf-8", q.page(&b, scan, base, older)
	default:
		err = q.text(&b, scan, base, older)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind)
	debughttp.Send(w, b.Bytes())
	return nil
}

// text writes what has grown since base, if there is one, and the tree. If there is an older scan,
// it tells what had grown before base.
func (q *query) text(w io.Writer, scan, base, older *scanreport.Scan) error {
	switch {
	case base == nil && q.base != "":
		fmt.Fprint(w, "there was no request before this one; this scan is kept for the next\n\n")
	case base != nil:
		growth, err := scan.Since(base)
		if err != nil {
			return err
		}
		if older != nil {
			before, err := base.Since(older)
			if err != nil {
				return err
			}
			growth.Steady(before)
		}
		if err := growth.WriteText(w, q.top); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if why := scan.Unsound(); why != "" {
		fmt.Fprintf(w, "the figures are not reliable: %s\n\n", why)
	}
	return scan.WriteText(w, q.top)
}

const page = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>retained memory</title>
<style>body{font:15px/1.4 system-ui,sans-serif;margin:1.5em;color-scheme:light dark}pre{font:13px/1.35 ui-monospace,monospace;overflow-x:auto}a{margin-right:1em}</style>
</head><body><p><a href="?base=previous">what has grown since</a><a href="?format=text">text</a><a href="?format=json">JSON</a><a href="?format=profile">profile</a></p>
<pre>%s</pre></body></html>
`

func (q *query) page(w io.Writer, scan, base, older *scanreport.Scan) error {
	var b strings.Builder
	if err := q.text(&b, scan, base, older); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, page, html.EscapeString(b.String()))
	return err
}
