// Package golangcilint makes leakvet a module plugin of golangci-lint, which "golangci-lint custom"
// builds in. In .custom-gcl.yml:
//
//	version: v2.15.0
//	plugins:
//	  - module: github.com/leakgate/leakgate
//	    import: github.com/leakgate/leakgate/cmd/leakgate/leakvet/golangcilint
//	    version: latest
//
// and in .golangci.yml:
//
//	version: "2"
//	linters:
//	  enable: [leakvet]
//	  settings:
//	    custom:
//	      leakvet:
//	        type: module
//	        description: mistakes in tests that use leakcheck
package golangcilint

import (
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/leakgate/leakgate/cmd/leakgate/leakvet"
)

func init() { register.Plugin("leakvet", newPlugin) }

type plugin struct{}

// newPlugin takes no settings.
func newPlugin(any) (register.LinterPlugin, error) { return plugin{}, nil }

func (plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{leakvet.Analyzer}, nil
}

func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
