package snapshot

import (
	"errors"
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/process/inplace"
	"github.com/leakgate/leakgate/internal/envvar"
)

// Supported says whether snapshots can be taken on this system.
const Supported = freeze.Supported || inplace.Supported

// tried are the systems that this package has been run on. On systems where it has only been built,
// snapshots are taken only if the environment asks for them.
var tried = map[string]bool{"linux/amd64": true, "linux/arm64": true, "windows/amd64": true}

// CheckPlatform returns an *Unavailable if no snapshot can be taken on this system, or none is to
// be taken.
func CheckPlatform() error {
	return checkPlatform(runtime.GOOS+"/"+runtime.GOARCH, envvar.Freeze.Value())
}

func checkPlatform(here, way string) error {
	switch {
	case !Supported:
		return &Unavailable{
			Cause:  "snapshots are not supported on " + here,
			Remedy: "run the test on linux or windows, amd64 or arm64",
			Err:    errors.ErrUnsupported,
		}
	case !tried[here] && way != inPlace:
		return &Unavailable{
			Cause:  "snapshots on " + here + " are experimental: they were built and never run there",
			Remedy: "run the test on linux or windows; to try it all the same, set " + envvar.Freeze.Name() + "=" + inPlace + " and report what comes of it",
			Err:    errors.ErrUnsupported,
		}
	}
	return nil
}
