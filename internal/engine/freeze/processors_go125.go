//go:build go1.25 && linux && (amd64 || arm64)

package freeze

import "runtime"

func setDefaultProcessors() { runtime.SetDefaultGOMAXPROCS() }
