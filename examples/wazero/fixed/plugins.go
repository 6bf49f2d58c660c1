// Package plugins runs a WebAssembly plugin that can be replaced while the program runs.
package plugins

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Host runs one plugin at a time. It is not safe for concurrent use.
type Host struct {
	runtime wazero.Runtime
	plugin  *Plugin
}

// Plugin is a loaded plugin.
type Plugin struct {
	log   *Log
	env   api.Module // what the plugin imports: the function log
	guest api.Module
}

// Log has the numbers that a plugin has logged.
type Log struct {
	Numbers []uint32
}

// NewHost returns a host without a plugin.
func NewHost(ctx context.Context) *Host {
	return &Host{runtime: wazero.NewRuntime(ctx)}
}

// Load replaces the plugin.
func (h *Host) Load(ctx context.Context, wasm []byte) error {
	if err := h.Unload(ctx); err != nil {
		return err
	}
	p := &Plugin{log: new(Log)}
	var err error
	p.env, err = h.runtime.NewHostModuleBuilder("env").
		NewFunctionBuilder().WithFunc(p.log.add).Export("log").
		Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("plugins: host functions: %w", err)
	}
	p.guest, err = h.runtime.Instantiate(ctx, wasm)
	if err != nil {
		return errors.Join(fmt.Errorf("plugins: load: %w", err), p.env.Close(ctx))
	}
	h.plugin = p
	return nil
}

// Unload closes the plugin, if there is one.
func (h *Host) Unload(ctx context.Context) error {
	p := h.plugin
	if p == nil {
		return nil
	}
	h.plugin = nil
	return errors.Join(p.guest.Close(ctx), p.env.Close(ctx))
}

// Run calls the plugin and returns what it has logged so far.
func (h *Host) Run(ctx context.Context, n uint32) ([]uint32, error) {
	_, err := h.plugin.guest.ExportedFunction("run").Call(ctx, uint64(n))
	return h.plugin.log.Numbers, err
}

// add is the function env.log of plugins.
func (l *Log) add(n uint32) {
	l.Numbers = append(l.Numbers, n)
}
