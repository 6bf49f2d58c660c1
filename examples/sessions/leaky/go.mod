module example.com/shop

go 1.26.0

replace github.com/leakgate/leakgate => ../../..

require github.com/leakgate/leakgate v0.0.0-00010101000000-000000000000

require github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe // indirect
