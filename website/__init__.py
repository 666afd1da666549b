"""The documentation as a site: pages of `docs/`, pages made from the code, and the plots of the benchmarks."""
