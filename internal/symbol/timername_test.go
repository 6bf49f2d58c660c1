package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// The standard library of the Go version that runs gives each function of the table to a timer, as
// a method value, or has a function literal in it that it gives to a timer.
func TestTimerFunctions(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src")
	isOld := strings.HasPrefix(runtime.Version(), "go1.26")
	sources := make(map[string]string) // by package
	for function, shown := range timerFunctions {
		pkg := Package(function)
		name := strings.TrimPrefix(function, pkg+".")
		if ofOld, ofNew := strings.HasPrefix(name, "(*http2"), pkg == "net/http/internal/http2"; ofOld && !isOld || ofNew && isOld {
			continue
		}
		text, known := sources[pkg]
		if !known {
			text = sourceOf(t, filepath.Join(source, pkg))
			sources[pkg] = text
		}
		method := name
		declared := `(?m)^func `
		if receiver, m, ok := strings.Cut(strings.TrimPrefix(name, "(*"), ")."); ok {
			method = m
			declared += `\(\w+ \*` + receiver + `\) `
		}
		body := regexp.MustCompile(declared + method + `\((?s:.*?)^}`).FindString(text)
		if body == "" {
			t.Errorf("%s: %s has no such function", runtime.Version(), function)
			continue
		}
		given := regexp.MustCompile(`AfterFunc\([^\n]*\.` + method + `\)`)
		if !strings.Contains(body, "AfterFunc(") && !given.MatchString(text) {
			t.Errorf("%s: no timer is given %s, or a literal in it", runtime.Version(), function)
		}
		if shown == "" || TimerName(function) != shown || TimerName(function+".func1") != shown {
			t.Errorf("%s is called %q", function, TimerName(function))
		}
	}
	if TimerName("context.WithValue") != "" || TimerName("example.com/app.(*Session).expire") != "" {
		t.Error("others are taken for functions of the table")
	}
}

// sourceOf is the text of a package, without its tests.
func sourceOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
