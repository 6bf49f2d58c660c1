package verdict

import (
	"runtime/debug"
	"testing"
)

func TestCheckSchema(t *testing.T) {
	const path = "github.com/leakgate/leakgate"
	for _, tt := range []struct {
		schema              int
		leakcheck, leakgate string
		want                string
	}{
		{Schema, "v0.1.0", "v0.9.0", ""},
		{
			Schema + 1, "v0.4.0", "v0.3.0",
			"this leakgate (v0.3.0) reads records of version 2, and leakcheck (v0.4.0) writes version 3: " +
				"go run " + path + "/cmd/leakgate@v0.4.0, or go get -tool of the same",
		},
		{
			Schema - 1, "v0.2.0", "v0.3.0",
			"this leakgate (v0.3.0) reads records of version 2, and leakcheck (v0.2.0) writes version 1: go get " + path + "@v0.3.0",
		},
		{
			Schema - 1, "", "(devel)",
			"this leakgate (of no release) reads records of version 2, and leakcheck (of no release) writes version 1: go get " + path + "@latest",
		},
	} {
		got := ""
		if err := CheckSchema(tt.schema, tt.leakcheck, tt.leakgate); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("CheckSchema(%d, %q, %q)\n got %s\nwant %s", tt.schema, tt.leakcheck, tt.leakgate, got, tt.want)
		}
	}
}

func TestLibrary(t *testing.T) {
	for want, dep := range map[string]*debug.Module{
		"v0.3.0": {Path: "github.com/leakgate/leakgate", Version: "v0.3.0"},
		"":       {Path: "github.com/leakgate/leakgate", Version: "v0.3.0", Replace: &debug.Module{Path: "../leakgate"}},
	} {
		info := &debug.BuildInfo{Deps: []*debug.Module{{Path: "example.com/x", Version: "v1.0.0"}, dep}}
		if got := libraryOf(info); got != want {
			t.Errorf("of %+v: %q, want %q", dep, got, want)
		}
	}
}
