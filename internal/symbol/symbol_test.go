package symbol

import (
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestShort(t *testing.T) {
	for name, want := range map[string]string{
		"example.com/app.T":          "app.T",
		"example.com/app/v2.T":       "app.T",
		"example.com/app/v12.(*T).M": "app.(*T).M",
		"example.com/app/v2_test.T":  "app_test.T",
		"example.com/app/v2.":        "app.",
		"app/v2.T":                   "app.T",
		"k8s.io/api/core/v1.Pod":     "v1.Pod",
		"example.com/app/v2beta1.T":  "v2beta1.T",
		"example.com/app/v.T":        "v.T",
		"gopkg.in/yaml.v3.Node":      "yaml.v3.Node",
		"github.com/x/go-cache.New":  "go-cache.New",
		"v2.T":                       "v2.T",
		"main.T":                     "main.T",
		"int":                        "int",
		"":                           "",
	} {
		require.Equal(t, want, Short(name), name)
	}
}

func TestIsTool(t *testing.T) {
	for pkg, want := range map[string]bool{
		toolModule + "leakcheck": true, toolModule + "internal/engine/memory/image": true,
		toolModule + "internal/verdict": true, toolModule + "internal/symbol": true, toolModule + "refscan_test": false,
		toolModule + "examples": false, toolModule + "internal": true, "leakcheck": false,
		toolModule + "internal/engine/graph/holding_test": false, toolModule + "internal/testkit/heaptest": false,
	} {
		require.Equal(t, want, IsTool(pkg), pkg)
	}
}

func TestIsRuntime(t *testing.T) {
	for pkg, want := range map[string]bool{
		"": true, "runtime": true, "internal/runtime/maps": true, "runtime/debug": false, "net": false,
	} {
		require.Equal(t, want, IsRuntime(pkg), pkg)
	}
}

func TestCallerFrames(t *testing.T) {
	pcs := make([]uintptr, 20)
	frames := CallerFrames(pcs[:runtime.Callers(0, pcs)]) // runtime.Callers itself is at the inner end
	if len(frames) != 2 || !strings.HasSuffix(frames[0].Function, "symbol.TestCallerFrames") || frames[1].Function != "testing.tRunner" {
		t.Error(frames)
	}
	if CallerFrames(nil) != nil {
		t.Error("frames of no stack")
	}
}

func TestIsIdentifier(t *testing.T) {
	for name, want := range map[string]bool{"x": true, "_": true, "T1": true, "été": true, "": false, "1x": false, "a.b": false, "*]": false, "[*]": false} {
		require.Equal(t, want, IsIdentifier(name), name)
	}
}
