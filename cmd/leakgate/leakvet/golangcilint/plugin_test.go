package golangcilint

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"

	"github.com/leakgate/leakgate/cmd/leakgate/leakvet"
)

// golangci-lint finds the plugin by its name, and asks it for analyzers that need types.
func TestPlugin(t *testing.T) {
	make, err := register.GetPlugin("leakvet")
	require.NoError(t, err)
	p, err := make(nil)
	require.NoError(t, err)
	analyzers, err := p.BuildAnalyzers()
	require.NoError(t, err)
	require.Equal(t, []*analysis.Analyzer{leakvet.Analyzer}, analyzers)
	require.NoError(t, analysis.Validate(analyzers))
	require.Equal(t, register.LoadModeTypesInfo, p.GetLoadMode())
}
