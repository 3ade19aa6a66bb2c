"""`InferenceSession`: a compiled model with the interface of ONNX Runtime's session."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from intarsia.config import CompilationConfig
from intarsia.driver.settings import CompileOptions, CompileSettings, settings_of, stated_of
from intarsia.errors import ConfigError, FeedError, IntarsiaError
from intarsia.files import AnyPath
from intarsia.graph.reading.interface import interface_of
from intarsia.graph.store import structure
from intarsia.interop.binding import IOBinding
from intarsia.interop.compiled import DEFAULTS, Cache, compiled
from intarsia.interop.failures import as_theirs
from intarsia.interop.nodes import ModelMetadata, NodeArg, metadata_of, node_args
from intarsia.interop.options import RunOptions, SessionOptions, check_session_options
from intarsia.interop.providers import Provider, chosen_providers, targets_of
from intarsia.interop.refusal import refuse_absent
from intarsia.interop.sizes import SizedModels, open_inputs
from intarsia.interop.trace import Trace
from intarsia.interop.values import OrtValue
from intarsia.runtime import Artifact, CompiledModel
from intarsia.runtime.artifact.trust import UNSTATED, Trust
from intarsia.spec.problems import nearest
from intarsia.target.aliases import CPU_PROVIDER, PROVIDERS

ARTIFACT_SUFFIX = ".intarsia"


class InferenceSession:
    """A model that runs on the engines that measured fastest here, with the interface of ``onnxruntime``'s session.

    Compiling happens here, the first time: within 20 seconds, or as long as a warning on the log says. That it waits
    for another compile is logged too. What comes out is kept in a folder, by model, settings, engines and machine, so
    that the next session loads it. A model with open dimensions is compiled at its first run (see `SizedModels`),
    unless ``shapes`` states their sizes or ranges.

    Example::

        import intarsia.onnxruntime as ort

        session = ort.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
        (probabilities,) = session.run(None, {session.get_inputs()[0].name: image})
    """

    @as_theirs
    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Provider] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        *,
        enable_fallback: bool = True,
        target: Any = None,
        settings: CompileSettings | None = None,
        cache: Cache = None,
        allow: AnyPath | Iterable[AnyPath] = (),
        machine_code: bool = True,
        signed_by: AnyPath | Iterable[AnyPath] = (),
        trusted: bool = False,
        **compile_options: Unpack[CompileOptions],
    ) -> None:
        """Compile the model, or find it compiled.

        Args:
            path_or_bytes: An ONNX model, or the path of an artifact, which ends in ``.intarsia``.
            sess_options: See `SessionOptions` for what has a meaning.
            providers: Names, or names with options; they stand for targets (`get_all_providers`).
            provider_options: Options for each of the providers.
            enable_fallback: Without effect: nothing falls back in silence.
            target: Any target or configuration, in place of providers.
            settings: How the model is compiled, as `intarsia.compile` takes it; within 20 seconds if left out.
            cache: The folder of compiled models; one in the user's cache folder if left out, none for ``False``.
            allow: Of an artifact, as are the next three: what it may do, as `intarsia.load` has them.
            machine_code: Whether it may hold machine code.
            signed_by: Who must have signed it.
            trusted: Whether to load it at once, wherever it comes from.
            **compile_options: Settings as keywords, as ``budget=60, max_error=1e-2``; see `intarsia.CompileSettings`.

        Raises:
            IntarsiaError: As `intarsia.compile`; `UnsupportedError` for what is not offered.
        """
        options = sess_options or SessionOptions()
        if not isinstance(options, SessionOptions):
            raise ConfigError(
                "sess_options is not one of intarsia.onnxruntime's SessionOptions; make it from that module"
            )
        check_session_options(options)
        if providers is None and options.providers:
            providers = list(options.providers.items())
        if target is not None and providers is not None:
            raise ConfigError("target= and providers both say what the model runs on; state one of them")
        self._options = options
        self._source = path_or_bytes
        self._trust = Trust.of(allow, machine_code=machine_code, signed_by=signed_by, trusted=trusted)
        self._chosen = chosen_providers(providers, provider_options) if target is None else _of_target(target)
        self._target = target if providers is None else targets_of(self._chosen)
        self._settings = _merged(settings_of("InferenceSession", settings, compile_options, defaults=DEFAULTS), options)
        self._cache = cache
        self._trace = Trace(options.profile_file_prefix) if options.enable_profiling else None
        self._close: Callable[[], object] = lambda: None
        self._start()

    def _start(self) -> None:
        source, target, settings, cache = self._source, self._target, self._settings, self._cache
        if isinstance(source, str | os.PathLike) and Path(source).suffix == ARTIFACT_SUFFIX:
            _refuse_settings(source, target, settings, cache)
            artifact = Artifact(Path(source), self._trust)
            interface = interface_of(structure(artifact.graph()))
            models = SizedModels(lambda _: CompiledModel(artifact), {})
        elif self._trust != UNSTATED:
            raise ConfigError(
                "allow=, machine_code=, signed_by= and trusted= say what an artifact may do, and this is a model, "
                "which is compiled here; leave them out"
            )
        else:
            interface, stated = interface_of(source), settings.shapes or {}
            models = SizedModels(
                lambda shapes: compiled(source, target, replace(settings, shapes={**stated, **shapes}), cache),
                open_inputs(interface, stated),
            )
        self._close()
        self._close = weakref.finalize(self, models.close)
        self._interface, self._models = interface, models
        self._last = models.only
        self._names = [end.name for end in interface.outputs]

    @property
    def model(self) -> CompiledModel:
        """The compiled model behind it, of the last run's sizes: its plan, its report, and `CompiledModel.save`.

        Raises:
            ConfigError: The model has open dimensions, and no run has told their sizes yet.
        """
        if self._last is None:
            raise ConfigError("the model is compiled at its first run, which tells its sizes; or state shapes=")
        return self._last

    @property
    def providers(self) -> list[str]:
        """What `get_providers` returns."""
        return self.get_providers()

    @as_theirs
    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[np.ndarray]:
        """Run once.

        Args:
            output_names: The outputs that are wanted, in that order; all of them for ``None`` or an empty list.
            input_feed: An array for each input. Lists of numbers, tensors of PyTorch, and `OrtValue` are taken too.
            run_options: See `RunOptions` for what has a meaning.

        Raises:
            FeedError: An array is missing, unknown, or of another dtype or shape, or an output is unknown.
            ExecutionError: An engine failed.
            ConfigError: ``terminate`` is set.
        """
        wanted = output_names or self._names
        _check_names(wanted, self._names, "output")
        results = self._results(input_feed, run_options)
        return [results[name] for name in wanted]

    @as_theirs
    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """As `run`, with values in and out."""
        return [OrtValue(array) for array in self.run(output_names, input_dict_ort_values, run_options)]

    @as_theirs
    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[np.ndarray], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """As `run` on a thread of its own; then ``callback(results, user_data, error)``, one of the two empty."""

        def work() -> None:
            try:
                results, error = self.run(output_names, input_feed, run_options), ""
            except IntarsiaError as failure:
                results, error = [], str(failure)
            callback(results, user_data, error)

        threading.Thread(target=work, name="intarsia run_async", daemon=True).start()

    def io_binding(self) -> IOBinding:
        """Room for the arrays of runs to come."""
        return IOBinding(self)

    @as_theirs
    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Run once on what is bound.

        Raises:
            FeedError: As `run`; or a buffer does not fit its result.
        """
        iobinding.take(self._results(iobinding.feeds, run_options))

    def get_inputs(self) -> list[NodeArg]:
        """Name, type and shape of each input, as the model's file says them."""
        return node_args(self._interface.inputs)

    def get_outputs(self) -> list[NodeArg]:
        """Name, type and shape of each output."""
        return node_args(self._interface.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs that the model has a value for. They are weights here: a run does not take another value."""
        return node_args(self._interface.overridable)

    def get_modelmeta(self) -> ModelMetadata:
        """Where the model came from, and its own key-value pairs."""
        return metadata_of(self._interface)

    def get_session_options(self) -> SessionOptions:
        """Those it was made with."""
        return self._options

    def get_providers(self) -> list[str]:
        """The providers that it may use, most preferred first."""
        return list(self._chosen)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider, as text."""
        return {name: {key: str(value) for key, value in own.items()} for name, own in self._chosen.items()}

    @as_theirs
    def set_providers(
        self, providers: Sequence[Provider] | None = None, provider_options: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Compile anew for other providers."""
        self._chosen = chosen_providers(providers, provider_options)
        self._target = None if providers is None else targets_of(self._chosen)
        self._start()

    def enable_fallback(self) -> None:
        """Without effect: nothing falls back in silence."""

    def disable_fallback(self) -> None:
        """Without effect: nothing falls back in silence."""

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, in nanoseconds of ``time.perf_counter_ns``; 0 where it is off."""
        return 0 if self._trace is None else self._trace.start_ns

    @as_theirs
    def end_profiling(self) -> str:
        """Write the profile of the runs so far; its path.

        Raises:
            ConfigError: ``enable_profiling`` is not set in the session's options.
        """
        if self._trace is None:
            raise ConfigError("there is no profile: set enable_profiling in the session's options")
        path, self._trace = self._trace.write(), None
        return str(path)

    @as_theirs
    def check_input(self, name: str) -> None:
        """Raise a `FeedError` that names the nearest input if none has this name."""
        _check_names([name], [end.name for end in self._interface.inputs], "input")

    @as_theirs
    def check_output(self, name: str) -> None:
        """Raise a `FeedError` that names the nearest output if none has this name."""
        _check_names([name], self._names, "output")

    def _results(self, feeds: Mapping[str, Any], options: RunOptions | None) -> dict[str, np.ndarray]:
        if options is not None and options.terminate:
            raise ConfigError(
                "the run was not begun: terminate is set in its options; set it to False for the next one"
            )
        if not isinstance(feeds, Mapping):
            raise FeedError(f"input_feed is a mapping with one array per input, and this is a {type(feeds).__name__}")
        arrays = {name: value.numpy() if isinstance(value, OrtValue) else value for name, value in feeds.items()}
        return self._models.run(arrays, lambda model: self._run(model, arrays))

    def _run(self, model: CompiledModel, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
        self._last = model
        return model.load().run(arrays) if self._trace is None else self._trace.run(model, arrays)

    def __getattr__(self, name: str) -> Any:
        raise refuse_absent("InferenceSession", name, dir(type(self)))


def _merged(settings: CompileSettings, options: SessionOptions) -> CompileSettings:
    """The settings, with what ONNX Runtime's own options say beside them."""
    if settings.threads is not None and options.intra_op_num_threads:
        raise ConfigError("threads= and intra_op_num_threads say the same; state one of them")
    return replace(
        settings,
        threads=settings.threads or options.intra_op_num_threads or None,
        shapes={**(settings.shapes or {}), **options.sizes},
        custom_ops=(*settings.custom_ops, *options.libraries),
    )


def _refuse_settings(source: AnyPath, target: Any, settings: CompileSettings, cache: Cache) -> None:
    """Refuse what says how to compile, beside an artifact that is compiled already."""
    stated = ["target or providers"] * bool(target) + ["cache"] * (cache is not None)
    stated += stated_of(settings, DEFAULTS)
    if stated:
        raise ConfigError(f"{source} is compiled already; leave out {', '.join(stated)}, or hand over the ONNX model")


def _of_target(target: Any) -> dict[str, Mapping[str, Any]]:
    kinds = {each.kind.name for each in CompilationConfig.of(target).flatten()}
    return {**{name: {} for name, text in PROVIDERS.items() if text in kinds}, CPU_PROVIDER: {}}


def _check_names(names: Iterable[str], known: Sequence[str], what: str) -> None:
    for name in names:
        if name not in known:
            hint = nearest(name, known, f"the {what}s are {', '.join(known) or '(none)'}")
            raise FeedError(f"the model has no {what} {name!r}{hint}")
