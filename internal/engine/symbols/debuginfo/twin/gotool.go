package twin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// findGo chooses the go command: one of the version that built the test, or one that can switch to
// it without a download.
func (inv *invocation) findGo(ctx context.Context, version string) error {
	version = release(version)
	if root := lookup(inv.env, "GOROOT"); root != "" {
		inv.tools = append(inv.tools, goIn(root))
	}
	//lint:ignore SA1019 the default GOROOT is one of several places to look at
	if root := runtime.GOROOT(); root != "" {
		inv.tools = append(inv.tools, goIn(root))
	}
	if path, err := lookPath(lookup(inv.env, "PATH")); err == nil {
		inv.tools = append(inv.tools, path)
	}
	inv.env = without(inv.env, func(name string) bool {
		// The last two are how the go command tells a newer one that it was switched to.
		return name == "PWD" || name == "GOTOOLCHAIN" || strings.HasPrefix(name, "GOTOOLCHAIN_INTERNAL_SWITCH_")
	})
	inv.env = append(inv.env, "PWD="+inv.dir)
	if _, err := os.Stat(inv.dir); err != nil {
		return &Unavailable{
			Cause:  "the test has no debug information, and the folder it was started in is gone",
			Remedy: "run it with go test in its source tree",
			Err:    err,
		}
	}
	var found []string
	seen := make(map[string]bool)
	for _, tool := range inv.tools {
		if seen[tool] {
			continue
		}
		seen[tool] = true
		for _, toolchain := range []string{"local", version} {
			has, err := inv.version(ctx, tool, toolchain)
			if err != nil {
				if !errors.Is(err, os.ErrNotExist) {
					found = append(found, fmt.Sprintf("%s (GOTOOLCHAIN=%s): %v", tool, toolchain, err))
				}
				continue
			}
			if has == version {
				inv.goTool = tool
				inv.env = append(inv.env, "GOTOOLCHAIN="+toolchain)
				return nil
			}
			found = append(found, fmt.Sprintf("%s is %s", tool, has))
		}
	}
	if len(found) == 0 {
		return &Unavailable{
			Cause:  "the test has no debug information, and no go command was found to link it again",
			Remedy: "put go " + strings.TrimPrefix(version, "go") + " in PATH, or " + remedyFlags,
		}
	}
	return &Unavailable{
		Cause:  fmt.Sprintf("the test has no debug information, and no go command of the version that built it (%s) was found", version),
		Remedy: "put go " + strings.TrimPrefix(version, "go") + " in PATH, or " + remedyFlags,
		Err:    errors.New(strings.Join(found, "; ")),
	}
}

// goName is the go command's file name. hasExtension says whether a file's extension makes it a
// program on this system: elsewhere its mode does.
var goName, hasExtension = "go" + extension, extension != ""

func goIn(root string) string { return filepath.Join(root, "bin", goName) }

// version asks a go command for its version.
func (inv *invocation) version(ctx context.Context, tool, toolchain string) (string, error) {
	if err := executable(tool); err != nil {
		return "", err
	}
	probe := *inv
	probe.goTool = tool
	// With GOPROXY=off no toolchain is downloaded. GOFLAGS is empty, since flags may be invalid
	// outside of a module.
	probe.env = append(without(inv.env, func(name string) bool { return name == "GOFLAGS" || name == "GOPROXY" }),
		"GOTOOLCHAIN="+toolchain, "GOPROXY=off", "GOFLAGS=")
	probe.dir = filepath.Dir(tool)
	out, err := probe.run(ctx, "env", "GOVERSION")
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, firstLines(out, 2))
	}
	return release(strings.TrimSpace(out)), nil
}

// release drops the experiments from a Go version, "go1.26.8 X:a,b" or, from the linker,
// "go1.26.8-X:a,b". They are part of the environment.
func release(version string) string {
	if i := strings.Index(version, "X:"); i > 0 {
		return strings.TrimRight(version[:i], " -")
	}
	return version
}

// run runs the go command.
func (inv *invocation) run(ctx context.Context, args ...string) (string, error) {
	return run(ctx, inv.dir, inv.env, inv.goTool, args...)
}
