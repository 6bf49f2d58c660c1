package main

import (
	"bytes"
	_ "embed"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed probe.tmpl
var probeText string

var probe = template.Must(template.New("probe").Parse(probeText))

// probeFile sorts behind other test files, so that its test is the last one.
const probeFile = "zzz_leakgate_audit_test.go"

// addProbe adds a test file to the package in a folder. Its test scans the process at intervals,
// and once more when the other tests are done.
func addProbe(dir, packageName string) error {
	var b bytes.Buffer
	if err := probe.Execute(&b, struct{ Package string }{packageName}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, probeFile), b.Bytes(), 0o666)
}
