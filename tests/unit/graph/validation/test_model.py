from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

from intarsia.errors import ModelError
from intarsia.graph import load_model
from intarsia.graph.limits import LIMITS
from intarsia.graph.reading.interface import interface_of
from tests.fuzz.base_models import BASES, DATA, EXTERNAL, write_data
from tests.malformed import EXCEPTED, MALFORMED, Excepted, Malformed, bomb, nested, sound, with_function


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.name)
def test_what_is_not_sound_is_refused_and_the_place_named(case: Malformed) -> None:
    with pytest.raises(ModelError) as caught:
        load_model(case.model)
    message = str(caught.value)
    assert all(word in message for word in case.words), message
    assert len(message) < 1000


@pytest.mark.parametrize("case", EXCEPTED, ids=lambda case: case.name)
def test_some_that_another_reader_refuses_are_taken(case: Excepted) -> None:
    assert load_model(case.model).nodes


@pytest.mark.parametrize("name", BASES)
def test_sound_models_of_every_kind_are_taken(name: str, tmp_path: Path) -> None:
    write_data(tmp_path)
    (tmp_path / "model.onnx").write_bytes(BASES[name]().SerializeToString())
    assert (tmp_path / DATA).exists()
    assert load_model(tmp_path / "model.onnx", {"N": 2} if name == "open" else None).nodes


def test_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "odd.onnx"
    made = sound()
    made.graph.initializer[0].ClearField("raw_data")
    path.write_bytes(made.SerializeToString())
    with pytest.raises(ModelError, match=r"odd\.onnx: weight 'w' has no content"):
        load_model(path)


def test_whoever_only_asks_for_inputs_and_outputs_is_told_as_well() -> None:
    made = sound()
    made.graph.node[2].input[0] = "z"
    with pytest.raises(ModelError, match=r"'relu' .*reads 'z'"):
        interface_of(made.SerializeToString())


def test_a_name_that_is_nearly_right_is_offered() -> None:
    made = sound()
    made.graph.node[1].input[1] = "bb"
    with pytest.raises(ModelError, match=r"did you mean 'b'\?"):
        load_model(made)


def test_a_model_that_onnx_ir_holds_is_checked_too() -> None:
    held = ir.from_proto(sound())
    assert load_model(held).nodes
    held.graph[1].op_type = "Gather"
    held.graph[2].replace_input_with(0, None)
    with pytest.raises(ModelError, match="'relu'"):
        load_model(held)


def test_an_output_may_be_handed_out_twice() -> None:
    made = sound()
    made.graph.output.append(made.graph.output[0])
    assert load_model(made).outputs[0] == "y"


def test_a_call_may_leave_an_attribute_to_the_operators_default() -> None:
    made = with_function()
    made.graph.node[0].attribute.pop()
    assert "alpha" not in load_model(made).nodes[0].attributes


def test_weights_that_older_files_list_among_the_inputs_are_fine() -> None:
    made = sound()
    made.ir_version = 3
    for tensor in made.graph.initializer:
        made.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    assert load_model(made).inputs == ("x",)


def test_a_dimension_of_minus_one_is_one_that_is_not_known() -> None:
    made = sound()
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    made.graph.output[0].type.tensor_type.shape.dim[0].dim_value = -1
    with pytest.raises(ModelError, match="dimension 0 has no size; state it, for instance with --shape x=1x3"):
        load_model(made)
    assert load_model(made, {"x": (5, 3)}).values["y"].shape == (5, 4)


def test_nodes_may_stand_in_any_order() -> None:
    made = sound()
    nodes = list(made.graph.node)
    made.graph.ClearField("node")
    made.graph.node.extend(reversed(nodes))
    assert [node.op_type for node in load_model(made).nodes] == ["MatMul", "Add", "Relu"]


def test_what_is_just_within_the_limits_is_taken() -> None:
    assert len(load_model(bomb(3)).nodes) == 1000
    assert load_model(bomb(LIMITS.calls, width=1)).nodes
    assert load_model(nested(20)).nodes


def test_external_data_is_held_to_its_length(tmp_path: Path) -> None:
    made = BASES[EXTERNAL]()
    made.graph.initializer[0].external_data[2].value = "44"
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    write_data(tmp_path)
    with pytest.raises(ModelError, match=r"weight 'w' has 44 bytes in .* its shape asks for 48"):
        load_model(path)


def test_a_place_that_is_no_text_is_no_place(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(BASES[EXTERNAL]().SerializeToString().replace(DATA.encode(), b"\xff" * len(DATA)))
    with pytest.raises(ModelError, match="weight 'w' is damaged"):
        load_model(path)


def test_a_tensor_that_says_no_type_is_no_output() -> None:
    made = sound()
    made.graph.output[0].type.tensor_type.elem_type = 0
    with pytest.raises(ModelError, match="output 'y' is a tensor without an element type"):
        load_model(made)


def test_the_attributes_of_a_call_have_names() -> None:
    made = with_function()
    made.graph.node[0].attribute[0].name = ""
    with pytest.raises(ModelError, match="'call'"):
        load_model(made)


def test_numbers_beyond_the_bits_of_their_type_are_refused() -> None:
    made = BASES["typed"]()
    made.graph.initializer[1].int32_data[1] = 1 << 20
    with pytest.raises(ModelError, match="'w1' holds numbers from 15360 to 1048576, beyond its 16 bits"):
        load_model(made)


def test_a_function_needs_the_version_of_its_domain() -> None:
    made = with_function()
    del made.opset_import[1]
    with pytest.raises(ModelError, match=r"'call' .* domain 'own'"):
        load_model(made)


def test_an_input_has_the_shape_of_its_weight() -> None:
    made = BASES["open"]()
    made.graph.input[1].type.tensor_type.shape.dim[0].dim_value = 7
    with pytest.raises(ModelError, match="weight 'w' has the shape"):
        load_model(made, {"N": 2})
