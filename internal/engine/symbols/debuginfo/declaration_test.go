package debuginfo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestDeclarationBesideLinknames finds variables of packages that have functions in other packages'
// files: a linkname, such as that of syscall.runtime_envs in runtime/runtime.go, names a function
// after a package that does not declare it.
func TestDeclarationBesideLinknames(t *testing.T) {
	for _, flags := range [][]string{nil, {"GOTOOLCHAIN=go1.27.3"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			if flags != nil { // it compiles the standard library
				require.Slow(t)
			}
			x, err := Build(progtest.Open(t, progtest.Build(t, flags...)))
			require.NoError(t, err)
			for _, name := range []string{
				"syscall.envs", "syscall.env", "syscall.envOnce", "os.ErrProcessDone", "os.Args", "sync.allPools", "time.localLoc", "time.zoneSources",
				"internal/poll.ErrFileClosing", "internal/poll.CloseFunc", "internal/godebug.cache", "reflect.uint8Type", "runtime.envs", "runtime.allgs", "runtime.allm",
			} {
				g, ok := x.GlobalByName(name)
				if !ok {
					t.Logf("the program has no %s", name)
					continue
				}
				file, line := Declaration(x, g)
				require.NotEmpty(t, file, name)
				assert.Equal(t, g.Package, strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), filepath.ToSlash(filepath.Join(goroot(t, x), "src"))+"/"), "%s is declared at %s", name, file)
				src, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.Contains(t, strings.Split(string(src), "\n")[line-1], strings.TrimPrefix(name, g.Package+"."))
			}
		})
	}
}

// goroot returns the folder of the standard library that the program was built with.
func goroot(t *testing.T, x *Index) string {
	file := funcNamed(t, x, "runtime.main").File
	root, ok := strings.CutSuffix(filepath.ToSlash(file), "/src/runtime/proc.go")
	require.True(t, ok, file)
	return root
}
